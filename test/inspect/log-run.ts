import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { parseRunLog, type RunLog, type RunLogOptions, withRunLog } from "turnwright/inspect";

export interface Logged {
  readonly result: LoopResult;
  readonly lines: readonly string[];
  readonly log: RunLog;
}

/** Runs a loop with a log in memory, and reads the log. */
export async function logRun(options: LoopOptions, how: Partial<RunLogOptions> = {}): Promise<Logged> {
  const lines: string[] = [];
  const result = await runToolLoop(withRunLog(options, { to: { write: (line) => lines.push(line) }, ...how }));
  return { result, lines, log: parseRunLog(lines.join("")) };
}

/** Returns the parsed lines of one type, with their references. */
export function linesOf(lines: readonly string[], type: string): readonly { readonly [field: string]: unknown }[] {
  return lines.map((line) => JSON.parse(line) as { readonly [field: string]: unknown }).filter((line) => line["type"] === type);
}
