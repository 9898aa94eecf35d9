import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";

export async function runTwice(options: LoopOptions, about: Parameters<typeof fileJournal>[1]): Promise<readonly LoopResult[]> {
  const first = await runToolLoop({ ...options, journal: fileJournal("run.jsonl", about) });
  return [first, await runToolLoop({ ...options, journal: replayJournal(fileJournal("run.jsonl")) })];
}
