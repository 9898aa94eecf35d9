// The stage of the sample logs: a test clock, a log in memory, and tools that take time.

import { defineTool, type LoopOptions, runToolLoop } from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { runLog } from "turnwright/inspect";
import { createTestClock, type TestClock, usage } from "turnwright/testing";
import { addWatchers } from "../../add-watchers.ts";

const start = Date.UTC(2026, 10, 20, 9, 30);

export interface Stage {
  readonly clock: TestClock;
  readonly lines: string[];
  run(options: Omit<LoopOptions, "clock">): Promise<void>;
}

/** Makes a log that several runs, or several executions of one run, can share. */
export function openStage(): Stage {
  const clock = createTestClock(start);
  const lines: string[] = [];
  const to = { write: (line: string): void => void lines.push(line) };
  const run = async (options: Omit<LoopOptions, "clock">): Promise<void> => {
    const running = runToolLoop(addWatchers({ ...options, clock }, runLog({ to, clock })));
    await clock.runAll();
    await running;
  };
  return { clock, lines, run };
}

type Args = { readonly [name: string]: unknown };
type Work = (args: Args) => unknown;

export function toolsOf(clock: TestClock): (name: string, ms: number, work: Work) => ExecutableTool {
  return (name, ms, work) =>
    defineTool({
      name,
      description: `The tool ${name} of the shop.`,
      inputSchema: { type: "object" },
      execute: (args: unknown) =>
        new Promise((resolve, reject) => {
          clock.setTimeout(() => {
            try {
              resolve(work(args as Args));
            } catch (error) {
              reject(error);
            }
          }, ms);
        }),
    });
}

export const system: string = `You are the assistant of a tea shop.

Look facts up before you answer. Ask for approval before you order.
Answer in at most three sentences.`;

export const tokens = (inputTokens: number, outputTokens: number, cachedInputTokens: number): ReturnType<typeof usage> =>
  usage({ inputTokens, outputTokens, cachedInputTokens });

export const pricing: NonNullable<LoopOptions["pricing"]> = ({ inputTokens, outputTokens, cachedInputTokens = 0 }) =>
  ((inputTokens - cachedInputTokens) * 3 + cachedInputTokens * 0.3 + outputTokens * 15) / 1e6;
