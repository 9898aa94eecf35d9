// An inbox for approvals that needs no database. It reads a folder of journal files, lists the calls that wait for a decision, and
// continues their runs. The processes that started the runs need not exist any more.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalDecision, Journal, LoopOptions, LoopResult } from "turnwright";
import { runToolLoop } from "turnwright";
import { fileJournal, inspectJournal, type JournalInspection } from "turnwright/journal";

export interface Question {
  readonly runId: string;
  readonly said: string;
  readonly call: Extract<JournalInspection["pendingCalls"][number], { readonly state: "awaiting-approval" }>;
}

/** A run continues only with the options with which it was started. */
export type OptionsOf = (runId: string, journal: Journal) => LoopOptions;

/** This function only reads the journal files, so runs that are live in other processes can go on. */
export async function listQuestions(folder: string): Promise<readonly Question[]> {
  const questions: Question[] = [];
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".jsonl"))) {
    try {
      const { runId, pendingCalls, text: said } = await inspectJournal(join(folder, name));
      if (runId === undefined) continue;
      for (const call of pendingCalls) if (call.state === "awaiting-approval") questions.push({ runId, said, call });
    } catch (error) {
      console.error(name, error); // a damaged file does not hide the other questions
    }
  }
  return questions;
}

/** Continues a run with a decision about one of its calls. Other waiting calls of the run keep waiting. */
export function decide(
  folder: string,
  { runId, call }: Question,
  { decision, optionsOf }: { readonly decision: ApprovalDecision; readonly optionsOf: OptionsOf },
): Promise<LoopResult> {
  const journal = fileJournal(join(folder, `${runId}.jsonl`));
  return runToolLoop({ ...optionsOf(runId, journal), answers: { [call.id]: decision } });
}
