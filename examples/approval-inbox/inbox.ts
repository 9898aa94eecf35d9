// An approval inbox made of journal files: lists what waits in a folder, and takes a decision. It needs no database, and the processes that
// ask may be gone.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalDecision, Journal, LoopOptions, LoopResult } from "turnwright";
import { runToolLoop } from "turnwright";
import { fileJournal, inspectJournal, type PendingCall } from "turnwright/journal";

/** One question to a person. */
export interface Question {
  readonly runId: string;
  /** The text of the model before the call. */
  readonly said: string;
  /** The call, and the tool that the decision is for. */
  readonly call: Extract<PendingCall, { readonly state: "awaiting-approval" }>;
}

/** The options of a run, as the application that started it makes them. */
export type OptionsOf = (runId: string, journal: Journal) => LoopOptions;

/** Lists the calls that wait for a decision. Runs nothing, and disturbs no run that is live. */
export async function listQuestions(folder: string): Promise<readonly Question[]> {
  const questions: Question[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".jsonl"))) {
    const { runId, pendingCalls, text: said } = await inspectJournal(join(folder, name));
    if (runId === undefined) continue;
    for (const call of pendingCalls) if (call.state === "awaiting-approval") questions.push({ runId, said, call });
  }
  return questions;
}

/** Goes on with a run by a decision. Its other questions go on waiting. */
export function decide(
  folder: string,
  { runId, call }: Question,
  { decision, optionsOf }: { readonly decision: ApprovalDecision; readonly optionsOf: OptionsOf },
): Promise<LoopResult> {
  const journal = fileJournal(join(folder, `${runId}.jsonl`));
  return runToolLoop({ ...optionsOf(runId, journal), decisions: { [call.id]: decision } });
}
