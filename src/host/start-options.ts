// Reads the options of a start and of a resume, and the messages that a run begins with.

import {
  type Check,
  type Checks,
  invalidOption,
  isFilled,
  isFunction,
  isRecord,
  type LoopOptions,
  type Message,
  oneOf,
  is,
  type UserMessage,
} from "../core/entry-kit.ts";
import type { JoinOptions } from "./hosted-event.ts";
import type { HostedLoopOptions, ResumeOptions, StartOptions, WhenBusy } from "./run-host.ts";

export const whenBusyCheck: Check = /* @__PURE__ */ oneOf("refuse", "steer", "queue");

/** Checks of the options of a reader. */
export const joinChecks: Checks<JoinOptions> = {
  from: is.text,
  signal: ["an AbortSignal", (value) => isRecord(value) && isFunction(value["addEventListener"])],
};

/** A start, with its message checked. */
export interface ReadStart {
  readonly loop: HostedLoopOptions;
  readonly message: UserMessage | undefined;
  readonly messages: readonly Message[] | undefined;
  readonly whenBusy: WhenBusy | undefined;
  readonly stopWhenUnread: boolean | undefined;
}

/** The options that belong to the host. */
const owned = ["runId", "events", "control", "journal"] as const;

/** Throws LoopError "invalid-option" unless a value can be the id of a conversation. */
export function checkId(id: unknown): void {
  if (typeof id !== "string" || id === "") throw invalidOption("id", "a text that is not empty", id);
}

/** Reads the options of a start. Options of the loop are checked by the loop. */
export function readStart(options: StartOptions): ReadStart {
  checkOptions(options);
  const { message, messages, regenerate, whenBusy, stopWhenUnread, ...loop } = options;
  const given = [message, messages, regenerate].filter((one) => one !== undefined).length;
  if (given !== 1) {
    const expected = 'an object with one of "message", "messages" and "regenerate"';
    throw invalidOption("options", expected, given === 0 ? undefined : options);
  }
  if (regenerate !== undefined && (regenerate as unknown) !== true) throw invalidOption("regenerate", "true", regenerate);
  checkField("whenBusy", whenBusy, whenBusyCheck);
  const read = message === undefined ? undefined : toUserMessage(message);
  return { loop, message: read, messages, whenBusy, stopWhenUnread };
}

/** Reads the options of a resume. */
export function readResume(options: ResumeOptions): Pick<ReadStart, "loop" | "stopWhenUnread"> {
  checkOptions(options);
  if ("messages" in options)
    throw invalidOption("messages", "left out: a run goes on with the messages that it began with", options.messages);
  const { stopWhenUnread, ...loop } = options;
  return { loop, stopWhenUnread };
}

function checkOptions(options: object): void {
  if (!isRecord(options)) throw invalidOption("options", "an object", options);
  const { stopWhenUnread }: { readonly stopWhenUnread?: unknown } = options;
  checkField("stopWhenUnread", stopWhenUnread, is.flag);
  for (const name of owned) {
    const value = (options as Partial<LoopOptions>)[name];
    if (value !== undefined) throw invalidOption(name, "left out: it belongs to the host", value);
  }
}

function checkField(name: string, value: unknown, [expected, fits]: Check): void {
  if (value !== undefined && !fits(value)) throw invalidOption(name, expected, value);
}

/** A message of another role would let a page write what the model or a tool said. */
function toUserMessage(message: unknown): UserMessage {
  if (typeof message === "string" && isFilled(message)) return { role: "user", content: message };
  if (isRecord(message) && message["role"] === "user" && message["content"] !== "")
    return { role: "user", content: message["content"] as UserMessage["content"] };
  throw invalidOption("message", 'a text that is not blank, or a message of the role "user"', message);
}

/** The transcript that a start goes on from. */
export interface History {
  readonly messages: readonly Message[];
  readonly undelivered?: readonly UserMessage[] | undefined;
}

/** Returns the messages that a run begins with. Throws LoopError "invalid-option" if there is nothing to answer again. */
export function toMessages({ messages, undelivered = [] }: History, { message, messages: own }: ReadStart): readonly Message[] {
  if (own !== undefined) return own;
  const all: readonly Message[] = [...messages, ...undelivered];
  if (message !== undefined) return [...all, message];
  const last = all.findLastIndex(({ role }) => role === "user");
  if (last >= 0) return all.slice(0, last + 1);
  throw invalidOption("regenerate", "left out: the conversation has no message of a user yet", true);
}
