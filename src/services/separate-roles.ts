import { continueText, openingText, resultsReadText } from "../core/provider-kit.ts";
import type { ChatQuirks } from "./service.ts";

/** The quirks about the order of messages. */
type RoleOrder = Pick<ChatQuirks, "answersTools" | "alternates" | "endsWithUser">;

/** Adds short messages where the service refuses two roles in this order. `say` makes such a message. */
export function separateRoles<Message extends { readonly role: string }>(
  messages: readonly Message[],
  order: RoleOrder,
  say: (role: "user" | "assistant", text: string) => Message,
): readonly Message[] {
  const separated: Message[] = [];
  for (const message of messages) {
    const pair = `${separated.at(-1)?.role ?? "system"} ${message.role}`;
    if (order.answersTools === true && pair === "tool user") separated.push(say("assistant", resultsReadText));
    if (order.alternates === true && pair === "system assistant") separated.push(say("user", openingText));
    separated.push(message);
  }
  const endsBadly = order.endsWithUser === true && separated.at(-1)?.role === "assistant";
  return endsBadly ? [...separated, say("user", continueText)] : separated;
}
