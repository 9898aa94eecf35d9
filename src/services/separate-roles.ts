import { continueText, openingText, resultsReadText } from "../shared/adapters/wire-names.ts";
import type { Quirks } from "./service.ts";

/** Quirks that concern the order of messages. */
type RoleOrder = Pick<Quirks, "answersTools" | "alternates" | "endsWithUser">;

type Say<Message> = (role: "user" | "assistant", text: string) => Message;

/** Adds a short message wherever the service would refuse the order of two roles. `say` creates this message. */
export function separateRoles<Message extends { readonly role: string }>(
  messages: readonly Message[],
  order: RoleOrder,
  say: Say<Message>,
): readonly Message[] {
  const needsPairs = order.answersTools === true || order.alternates === true;
  const separated = needsPairs ? separatePairs(messages, order, say) : messages;
  const endsBadly = order.endsWithUser === true && separated.at(-1)?.role === "assistant";
  return endsBadly ? [...separated, say("user", continueText)] : separated;
}

function separatePairs<Message extends { readonly role: string }>(
  messages: readonly Message[],
  { answersTools, alternates }: RoleOrder,
  say: Say<Message>,
): readonly Message[] {
  const separated: Message[] = [];
  let before = "system";
  for (const message of messages) {
    const { role } = message;
    if (answersTools === true && before === "tool" && role === "user") separated.push(say("assistant", resultsReadText));
    if (alternates === true && before === "system" && role === "assistant") separated.push(say("user", openingText));
    separated.push(message);
    before = role;
  }
  return separated;
}
