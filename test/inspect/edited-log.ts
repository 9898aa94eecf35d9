import { type LoggedRun, parseRunLog } from "turnwright/inspect";

export type Line = { readonly [field: string]: unknown };

export const startLine = (run: number, more: Line = {}): Line => ({
  ...{ type: "run-start", run, runId: `r${run}`, provider: "p", model: "m" },
  ...more,
});

export const streamLine: Line = { type: "iteration-start", iteration: 0, continuation: 0 };

export function readEdited(lines: readonly Line[]): LoggedRun {
  const all: readonly Line[] = [{ type: "log", version: 1 }, ...lines];
  const [run] = parseRunLog(all.map((line, at) => `${JSON.stringify({ at, ...line })}\n`).join("")).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}
