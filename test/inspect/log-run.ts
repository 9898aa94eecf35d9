import { readFileSync } from "node:fs";
import { defineTool, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { parseRunLog, type RunLog, runLog } from "turnwright/inspect";
import type { RunLogOptions } from "../../src/inspect/log/middleware.ts";
import { createMockProvider, createTestClock, type TestClock, text, toolCall } from "turnwright/testing";
import type { ExecutableTool } from "turnwright/kit";
import { addWatchers } from "../add-watchers.ts";

export interface Logged {
  readonly result: LoopResult;
  readonly lines: readonly string[];
  readonly log: RunLog;
}

export async function logRun(options: LoopOptions, how: Partial<RunLogOptions> = {}): Promise<Logged> {
  const lines: string[] = [];
  const result = await runToolLoop(addWatchers(options, runLog({ to: { write: (line) => lines.push(line) }, ...how })));
  return { result, lines, log: parseRunLog(lines.join("")) };
}

/** References to other lines are not resolved. */
export function linesOf(lines: readonly string[], type: string): readonly { readonly [field: string]: unknown }[] {
  return lines.map((line) => JSON.parse(line) as { readonly [field: string]: unknown }).filter((line) => line["type"] === type);
}

export const clock: TestClock = createTestClock(1_700_000_000_000);
export const long: string = "A long result. ".repeat(40);

export const lookUp: ExecutableTool = defineTool({
  name: "look_up",
  description: "Looks an order up in the database of the shop.",
  inputSchema: { type: "object" },
  execute: () => long,
});

/** The run calls `look_up` in its first `calls` iterations. */
export function optionsFor(calls: number, more: Partial<LoopOptions> = {}): LoopOptions {
  const provider = createMockProvider(({ iteration }) =>
    iteration < calls ? toolCall("look_up", { iteration }) : text("Done."),
  );
  return {
    provider,
    tools: [lookUp],
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    clock: createTestClock(),
    ...more,
  };
}

export const runLogged = (options: LoopOptions, how: RunLogOptions): ReturnType<typeof runToolLoop> =>
  runToolLoop(addWatchers(options, runLog({ clock, ...how })));
export const readLines = (path: string): readonly string[] => readFileSync(path, "utf8").split("\n").slice(0, -1);
