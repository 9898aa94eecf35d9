// Checks the new user messages of a request. The checks have their own journal step, so that a resumed run does not repeat them.

import {
  CancelScope,
  type CancelReason,
  type GuardrailRecord,
  type InputCheckAnswer,
  isRecorded,
  isReplayed,
  type Message,
  noteGuardrails,
  type Run,
  runStep,
  stepKey,
  type UserMessage,
  userTextOf,
} from "../core/entry-kit.ts";
import { askCheck } from "./ask-check.ts";
import type { CheckedInput, InputCheck } from "./checks.ts";

/**
 * Runs the checks, or replays their records. Returns undefined if the request has no new user messages. `modelKey` is the journal
 * key of the request. If an earlier execution without guardrails recorded the request, the input of the request is not checked.
 */
export function checkInput(
  run: Run,
  modelKey: string,
  checks: readonly InputCheck[],
): Promise<readonly GuardrailRecord[]> | undefined {
  const { messages, hasNewInput } = run.state;
  const newMessages = hasNewInput && checks.length > 0 ? findNewMessages(messages) : [];
  if (newMessages.length === 0) return undefined;
  const input = { text: newMessages.map(userTextOf).join("\n\n"), newMessages, messages: Object.freeze([...messages]) };
  return recordChecks(run, modelKey, { input, checks });
}

function findNewMessages(messages: readonly Message[]): readonly UserMessage[] {
  const last = messages.findLastIndex(({ role }) => role !== "user");
  return messages.slice(last + 1) as readonly UserMessage[];
}

interface Checking {
  readonly input: CheckedInput;
  readonly checks: readonly InputCheck[];
}

async function recordChecks(run: Run, modelKey: string, { input, checks }: Checking): Promise<readonly GuardrailRecord[]> {
  const key = stepKey(run.state, "input-check");
  const isPast = run.journal.replays === undefined ? isRecorded : isReplayed;
  if ((await isPast(run, modelKey)) && !(await isPast(run, key))) return [];
  const body = async (): Promise<InputCheckAnswer> => ({ kind: "checked", records: await askAll(run, { input, checks }) });
  return runStep({ key, kind: "hook", input: null, run: body }, run, ({ records }, live) => {
    noteGuardrails(run, records, { stage: "input", live });
    return records;
  });
}

/** Runs the checks at the same time. The first check that does not pass cancels the others, so that the run ends at once. */
async function askAll(run: Run, { input, checks }: Checking): Promise<readonly GuardrailRecord[]> {
  const scope = new CancelScope();
  const slot = { cancel: (cause: CancelReason): void => scope.cancel(cause) };
  run.scope.join(slot);
  if (run.scope.cause !== undefined) scope.cancel(run.scope.cause);
  const ask = async ({ name, check }: InputCheck): Promise<GuardrailRecord> => {
    const asked = await askCheck(run, { scope, name, mayRewrite: false, check: (context) => check(input, context) });
    if (asked.verdict !== "pass")
      scope.cancel({ kind: "abort", reason: new DOMException("The input was refused.", "AbortError") });
    return asked;
  };
  try {
    return await Promise.all(checks.map(ask));
  } finally {
    run.scope.leave(slot);
  }
}
