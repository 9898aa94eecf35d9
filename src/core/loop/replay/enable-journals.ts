// Adds the code that records and continues runs. Programs without journals leave it out.

import { decideIfNeeded } from "../../middleware/decide-call.ts";
import { callTool } from "../durability/call-tool.ts";
import type { CallDurability } from "../activity.ts";
import { waitAs } from "../durability/open-wait.ts";
import { record, recordFirst, recordRequestEnd, withShown } from "../durability/record-run.ts";
import { recordCallEnd, runRecorded } from "../durability/recorded-call.ts";
import { end, recordAsked, suspend } from "../durability/suspend-run.ts";
import { toReason } from "../durability/waiting-calls.ts";
import { recordSteps } from "../journals.ts";
import { parts } from "../run.ts";
import { endWaiting } from "../state.ts";
import { RunPast } from "./run-past.ts";

const durability: CallDurability = {
  createJournal: recordSteps,
  createPast: (run, nesting) => new RunPast(run, nesting),
  record,
  recordFirst,
  withShown,
  recordAsked,
  decide: decideIfNeeded,
  suspend,
  end,
  conclude: (state, { status, reason }) => ({
    reason: toReason(reason),
    ...(state.waits.length > 0 && status !== "suspended" && { messages: endWaiting(state) }),
  }),
  runCall: runRecorded,
  recordCallEnd,
  recordRequestEnd,
  wait: waitAs,
  call: callTool,
};

/**
 * Lets runs record their steps, wait for answers and continue from their journals. In a program that is not bundled, importing `turnwright`
 * does so, and `memoryJournal`, `fileJournal` and the other journals in this package do so when you call them. Otherwise a bundler leaves
 * the code out, and tools with `needsApproval` are refused. Call this function if your bundle has such tools, or a journal that you wrote
 * yourself.
 *
 * @example
 * enableJournals();
 * const result = await runToolLoop({ ...options, journal: myJournal });
 */
export function enableJournals(): void {
  parts.durability = durability;
}
