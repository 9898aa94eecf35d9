// A model that follows fixed rules. Like a real model, it sometimes calls a tool that the user did not ask for.

import { z } from "zod";
import type { Message } from "turnwright";
import {
  createMockProvider,
  details,
  fail,
  type MockPart,
  type MockProvider,
  text,
  thoughtLog,
  toolCall,
  wait,
} from "turnwright/testing";

const thinkMs = 1_000;

export function createScriptedModel(): MockProvider {
  return createMockProvider(({ messages }) => [wait(thinkMs), ...respond(readAssistantMessage(messages))]);
}

/** The posts, calls and results since the last answer of the model. */
interface Turn {
  readonly user: string;
  readonly said: string;
  /** The profile, after the tool `read_profile` has loaded it. */
  readonly profile: string | undefined;
  readonly reminder: Attempt | undefined;
  /** The arguments of the last reminder that was set before the current posts. */
  readonly before: z.infer<typeof reminderSchema> | undefined;
}

interface Attempt {
  readonly args: z.infer<typeof reminderSchema>;
  readonly outcome: string | undefined;
}

const reminderSchema = z.object({ what: z.string(), at: z.string() });

function respond(turn: Turn): readonly MockPart[] {
  const { user, said, profile } = turn;
  if (/break/i.test(said)) return [fail({ status: 401, message: "The key is wrong." })];
  if (profile !== undefined) {
    return [thoughtLog({ mood: "curious" }), text(`You are ${user}, and you like ${profile}.`), details("Fog over the galley.")];
  }
  if (/who am i/i.test(said)) return [text("Let me look. "), toolCall("read_profile")];
  if (/how deep/i.test(said)) return [text("I cast the lead. "), toolCall("sound_depth")];
  return remind(turn);
}

/** Calls `set_reminder` even if the user did not ask for it. Deliberate mode then blocks the call. */
function remind({ user, said, reminder, before = { what: "rise", at: "dawn" } }: Turn): readonly MockPart[] {
  if (reminder?.outcome === "blocked") return [text(`Aye, ${user}. I set reminders for those who ask for them.`)];
  const what = /remind me to (\w+)/i.exec(said)?.[1] ?? before.what;
  const at = [...said.matchAll(/\b(?:at|it) (six|five|noon)/gi)].at(-1)?.[1] ?? before.at;
  if (reminder?.args.at !== at) return [toolCall("set_reminder", { what, at })];
  return [text(`I will remind ${user} to ${what} at ${at}.`)];
}

function readAssistantMessage(messages: readonly Message[]): Turn {
  const isAnswer = (message: Message): boolean =>
    message.role === "assistant" && message.content.every(({ type }) => type !== "tool-call");
  const start = messages.map(isAnswer).lastIndexOf(true) + 1;
  const turn = messages.slice(start);
  const texts = turn.flatMap((message) =>
    message.role === "user" && typeof message.content === "string" ? [message.content] : [],
  );
  const said = texts.filter((content) => !content.startsWith("Context:\n"));
  const outcomes = new Map(
    turn.flatMap((message) => (message.role === "tool" ? message.results : [])).map(({ callId, outcome }) => [callId, outcome]),
  );
  const call = findReminder(turn);
  return {
    user: /^(\w+): /.exec(said.at(-1) ?? "")?.[1] ?? "",
    said: said.join("\n"),
    profile: /"likes":"(\w+)"/.exec(texts.at(-1) ?? "")?.[1],
    reminder: call === undefined ? undefined : { args: call.args, outcome: outcomes.get(call.callId) },
    before: findReminder(messages.slice(0, start))?.args,
  };
}

function findReminder(messages: readonly Message[]): { readonly callId: string; readonly args: Attempt["args"] } | undefined {
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  return parts
    .flatMap((part) => {
      const { data: args } = reminderSchema.safeParse(part.type === "tool-call" ? part.args : undefined);
      return part.type === "tool-call" && args !== undefined ? [{ callId: part.callId, args }] : [];
    })
    .at(-1);
}
