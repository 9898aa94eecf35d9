// An approval inbox that needs no database. It reads a folder of journal files, lists the calls that wait for a decision, and
// continues a run with a decision. The processes that started the runs need not exist any more.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalDecision, Journal, LoopOptions, LoopResult } from "turnwright";
import { runToolLoop } from "turnwright";
import { fileJournal, inspectJournal, type PendingCall } from "turnwright/journal";

export interface Question {
  readonly runId: string;
  /** The model's text before the call. */
  readonly said: string;
  readonly call: Extract<PendingCall, { readonly state: "awaiting-approval" }>;
}

/** Makes the options of a run. They must be the same as when the run was started. */
export type OptionsOf = (runId: string, journal: Journal) => LoopOptions;

/** Lists the calls that wait for a decision. Only reads the files, so live runs are not affected. */
export async function listQuestions(folder: string): Promise<readonly Question[]> {
  const questions: Question[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".jsonl"))) {
    const { runId, pendingCalls, text: said } = await inspectJournal(join(folder, name));
    if (runId === undefined) continue;
    for (const call of pendingCalls) if (call.state === "awaiting-approval") questions.push({ runId, said, call });
  }
  return questions;
}

/** Continues a run with a decision about one call. Other calls in the run keep waiting. */
export function decide(
  folder: string,
  { runId, call }: Question,
  { decision, optionsOf }: { readonly decision: ApprovalDecision; readonly optionsOf: OptionsOf },
): Promise<LoopResult> {
  const journal = fileJournal(join(folder, `${runId}.jsonl`));
  return runToolLoop({ ...optionsOf(runId, journal), decisions: { [call.id]: decision } });
}
