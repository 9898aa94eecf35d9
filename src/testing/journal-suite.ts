// The conformance suite for journals. It checks everything that the loop relies on, for any store and any workflow engine.

import { is } from "../core/entry-kit.ts";
import { checkEveryCut, checkKilledCall, checkTwoExecutions, checkWaitingCall } from "./journal-runs.ts";
import {
  checkBytes,
  checkCutGroup,
  checkFailedStep,
  checkGroup,
  checkKeys,
  checkLargeResult,
  checkLateStep,
  checkOwner,
  checkRecords,
  checkReplay,
  type JournalBench,
  type JournalSuiteSetup,
} from "./journal-steps.ts";
import { checkSetup, duration, type SuiteCheck } from "./suite-check.ts";

/**
 * Returns the checks for a journal: records, order, groups of steps, nested runs, cancellation, waiting, and two executions at the
 * same time. The suite registers no tests by itself: loop over the checks with any test runner.
 *
 * @example
 * const execute = (runId, body) => body(fileJournal(join(folder, `${runId}.jsonl`)));
 * for (const { title, run } of journalSuite({ execute })) it(title, run);
 */
export function journalSuite(setup: JournalSuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup, "execute", { send: is.fn, pauseMs: duration });
  return checks.map(([title, run]) => ({ title, run: () => runJournalCheck(setup, run) }));
}

const checks: readonly (readonly [title: string, run: (bench: JournalBench) => Promise<void>])[] = [
  ["returns the recorded result of a step, and does not run the step again", checkReplay],
  ["runs the steps of a group at the same time, and returns their results in the order of the steps", checkGroup],
  ["keeps the finished steps of a group that was cut off", checkCutGroup],
  ["returns each result as it was recorded, byte for byte", checkBytes],
  ["keeps a result of 4 MB", checkLargeResult],
  ["keeps the records of similar keys and of other runs apart", checkKeys],
  ["runs a step again in a later execution if the step failed", checkFailedStep],
  ["says which steps are recorded, if it has `has` or `read`", checkRecords],
  ["refuses a second owner while it is open, if it has `open`", checkOwner],
  ["keeps the record of a new owner if the old owner finishes the step late", checkLateStep],
  ["runs each call once if two executions of a run overlap", checkTwoExecutions],
  ["ends a run that was cut off after any step like a run that was not cut off", checkEveryCut],
  ["does not run a killed call again", checkKilledCall],
  ["runs an approved call once, after the decision has arrived", checkWaitingCall],
];

async function runJournalCheck(setup: JournalSuiteSetup, run: (bench: JournalBench) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  try {
    await run({ setup, runId: `suite-${globalThis.crypto.randomUUID()}`, signal: abort.signal });
  } finally {
    abort.abort(new DOMException("The check is over.", "AbortError"));
  }
}
