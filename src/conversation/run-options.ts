import {
  type Check,
  checkFields,
  checkOptions,
  type Checks,
  invalidOption,
  is,
  isRecord,
  needed,
  refuseLoopOptions,
} from "../core/kit.ts";
import { isFunction } from "../shared/errors/check-fields.ts";
import type { LoopOptions, UserMessage } from "../core/index.ts";
import { maxTimerMs } from "../shared/signals.ts";
import { keepRunsCheck } from "./keep-runs.ts";
import { toUserMessage } from "./new-message.ts";
import { whenSuspendedCheck } from "./waiting-calls.ts";
import { checkId, idCheck } from "./check-id.ts";
import type { ConversationOptions, ConversationRunOptions, NewMessages, ResumeOverrides } from "./conversation.ts";

export const storeCheck: Check = [
  "an object with the methods load, lock, isLocked and remove",
  (value) => isRecord(value) && ["load", "lock", "isLocked", "remove"].every((name) => isFunction(value[name])),
  () => ({ instead: 'fileConversationStore("chats"), from "turnwright/conversation"' }),
];

const checks: Checks<ConversationOptions> = {
  id: /* @__PURE__ */ needed(idCheck),
  store: /* @__PURE__ */ needed(storeCheck),
  options: /* @__PURE__ */ needed(is.object),
  journal: is.fn,
  removeJournal: is.fn,
  keepRuns: keepRunsCheck,
  whenSuspended: whenSuspendedCheck,
  wrapOptions: is.fn,
  waitMs: { min: 0, max: maxTimerMs },
};

export function checkConversation(options: ConversationOptions<never>): void {
  if (isRecord(options) && typeof options.id === "string") checkId(options.id);
  refuseLoopOptions(options, checks, (name) => `options: { ${name} }, because "options" applies to each run`);
  checkFields("options", options, checks);
  checkRun(options.options, false);
}

type OwnedOption = Exclude<keyof LoopOptions, keyof ConversationRunOptions>;

export type AnyOptions = ConversationRunOptions<never> & Pick<ResumeOverrides, "answers" | "resume">;

type ResumeOption = "answers" | "resume";

/** Why a run's options must not contain an option. */
const reasons: { readonly [Name in Exclude<OwnedOption, ResumeOption>]: string } = {
  messages: "the conversation provides them",
  runId: "the conversation creates one for each run",
  journal: 'the conversation has the option "journal"',
};
const resumeReasons: { readonly [Name in ResumeOption]: string } = {
  answers: 'only "resume" accepts them',
  resume: 'only "resume" accepts it',
};

/** Checks the options before the new message is stored, because `runToolLoop` would check them too late. */
function checkRun(options: object, resumes: boolean): void {
  for (const [name, reason] of Object.entries(resumes ? reasons : { ...reasons, ...resumeReasons })) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) throw invalidOption(name, `omitted because ${reason}`, value);
  }
  checkOptions({ ...options, messages: [{ role: "user", content: "" }] });
}

const groups = ["limits", "timeouts", "session", "modelSettings"] as const;

export function mergeOptions(base: AnyOptions, own: object, resumes: boolean): AnyOptions {
  if (!isRecord(own)) throw invalidOption("options", "an object", own);
  const merged: Record<string, unknown> = { ...base, ...own };
  for (const name of groups) {
    const [before, after] = [base[name], own[name]];
    if (isRecord(before) && isRecord(after)) merged[name] = { ...before, ...after };
  }
  checkRun(merged, resumes);
  return merged as unknown as AnyOptions;
}

export function toNewMessages(message: NewMessages | undefined): readonly UserMessage[] {
  if (message === undefined) return [];
  return (Array.isArray(message) ? message : [message]).map(toUserMessage);
}
