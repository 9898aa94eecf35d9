import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { type LoggedRun, readRunLog, runLog } from "turnwright/inspect";

export function ask(options: LoopOptions): Promise<LoopResult> {
  return runToolLoop({
    ...options,
    middleware: [runLog({ to: "run.jsonl", redact: (text, place) => (place === "result" ? "" : text) })],
  });
}

export async function firstRun(): Promise<LoggedRun | undefined> {
  const { runs } = await readRunLog("run.jsonl");
  return runs[0];
}
