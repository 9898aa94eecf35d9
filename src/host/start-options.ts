import { type Check, type Checks, invalidOption, is, isRecord } from "../core/kit.ts";
import { checkField, type Choice, isFunction } from "../shared/errors/check-fields.ts";
import { LoopError, type LoopOptions, type Message } from "../core/index.ts";
import { toPageMessage } from "../conversation/new-message.ts";
import type { PageMessage } from "../web/read-user-message.ts";
import { type WhenSuspended, whenSuspendedCheck } from "../conversation/waiting-calls.ts";
import type { HostedLoopOptions, JoinOptions, ResumeOptions, StartOptions, WhenBusy } from "./run-host.ts";

export const whenBusyCheck: Choice = ["refuse", "steer", "queue"];

export const signalCheck: Check = ["an AbortSignal", (value) => isRecord(value) && isFunction(value["addEventListener"])];

export const joinChecks: Checks<JoinOptions> = { from: is.text, signal: signalCheck };

export interface ReadStart {
  readonly loop: HostedLoopOptions;
  readonly message: PageMessage | undefined;
  readonly messages: readonly Message[] | undefined;
  readonly whenBusy: WhenBusy | undefined;
  readonly whenSuspended: WhenSuspended | undefined;
  readonly stopWhenUnread: boolean | undefined;
}

const owned = ["runId", "events", "control", "journal"] as const;

/** Reads the host's own options for `start`. Leaves those for `runToolLoop` unchecked, because the run checks them when it begins. */
export function readStart(options: StartOptions): ReadStart {
  checkOptions(options);
  refusePrompt(options);
  const { message: _message, messages: _messages, regenerate: _regenerate, ...given } = options;
  const { whenBusy, whenSuspended, stopWhenUnread, ...loop } = given;
  const read = readMessage(options);
  checkField("whenBusy", whenBusy, whenBusyCheck);
  checkField("whenSuspended", whenSuspended, whenSuspendedCheck);
  return { loop, ...read, whenBusy, whenSuspended, stopWhenUnread };
}

export function readMessage(options: {
  readonly message?: string | PageMessage | undefined;
  readonly messages?: readonly Message[] | undefined;
  readonly regenerate?: true | undefined;
}): Pick<ReadStart, "message" | "messages"> {
  const { message, messages, regenerate } = options;
  const given = [message, messages, regenerate].filter((one) => one !== undefined).length;
  if (given !== 1) {
    const expected = "an object with exactly one of them";
    const received = `an object with ${given === 0 ? "none" : given} of "message", "messages" and "regenerate"`;
    throw new LoopError("invalid-option", { option: "options", expected, received });
  }
  if (regenerate !== undefined && (regenerate as unknown) !== true) throw invalidOption("regenerate", "true", regenerate);
  return { message: message === undefined ? undefined : toPageMessage(message), messages };
}

/** Rejects `prompt`, which is an option in `generateWithTools` and other libraries. The error names the option to use instead. */
function refusePrompt(options: object): void {
  const { prompt }: { readonly prompt?: unknown } = options;
  if (prompt !== undefined) throw invalidOption("prompt", 'omitted because a host expects the text in "message"', prompt);
}

export function readResume(options: ResumeOptions): Pick<ReadStart, "loop" | "stopWhenUnread" | "whenBusy"> {
  checkOptions(options);
  if ("message" in options) throw invalidOption("message", 'omitted because only "start" accepts a new message', options.message);
  if ("messages" in options)
    throw invalidOption("messages", "omitted because a resumed run continues with its own messages", options.messages);
  const { stopWhenUnread, whenBusy, ...loop } = options;
  checkField("whenBusy", whenBusy, ["refuse", "queue"]);
  return { loop, stopWhenUnread, whenBusy };
}

function checkOptions(options: object): void {
  if (!isRecord(options)) throw invalidOption("options", "an object", options);
  const { stopWhenUnread }: { readonly stopWhenUnread?: unknown } = options;
  checkField("stopWhenUnread", stopWhenUnread, is.flag);
  for (const name of owned) {
    const value = (options as Partial<LoopOptions>)[name];
    if (value !== undefined) throw invalidOption(name, "omitted because the host sets it", value);
  }
}
