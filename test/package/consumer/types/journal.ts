import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { type FileJournalOptions, fileJournal, replayJournal } from "turnwright/journal";

export async function runTwice(options: LoopOptions, about: FileJournalOptions): Promise<readonly LoopResult[]> {
  const first = await runToolLoop({ ...options, journal: fileJournal("run.jsonl", about) });
  return [first, await runToolLoop({ ...options, journal: replayJournal(fileJournal("run.jsonl")) })];
}
