import {
  contextRestart,
  createContextRelease,
  FatalToolError,
  type ToolContext,
  type StandardSchema,
  type Tool,
  toolResult,
} from "turnwright";
import type { ReleaseRequest } from "../../src/core/loop/context-tools.ts";
import type { StandardResult } from "../../src/core/types/common.ts";
import type { TestClock } from "turnwright/testing";
import { never, tool } from "./play.ts";
import type { Plan } from "./random-run.ts";

export interface Workshop {
  readonly tools: readonly Tool[];
  readonly ran: string[];
  peak(): number;
  later<T>(ms: number, value: T): Promise<T>;
  timers(): number;
  /** The iterations whose results `maskResults` must mask. The run adds more iterations. */
  readonly force: Set<number>;
}

function ponder(later: Workshop["later"]): StandardSchema {
  const judge = (value: unknown): StandardResult<unknown> =>
    JSON.stringify(value).includes("true") ? { issues: [{ message: "edited" }] } : { value };
  const jsonSchema = { input: () => ({ type: "object" }) };
  return { "~standard": { version: 1, vendor: "test", validate: (value) => later(60, judge(value)), jsonSchema } };
}

function createDelays(clock: TestClock): Pick<Workshop, "later" | "timers"> {
  let timers = 0;
  const later = <T>(ms: number, value: T): Promise<T> => {
    timers += 1;
    return new Promise((resolve) => {
      clock.setTimeout(() => {
        timers -= 1;
        resolve(value);
      }, ms);
    });
  };
  return { later, timers: () => timers };
}

export function openWorkshop({ eager }: Plan, clock: TestClock, ran: string[]): Workshop {
  const force = new Set<number>();
  const { later, timers } = createDelays(clock);
  let running = 0;
  let peak = 0;
  const add = (name: string, execute: (signal: AbortSignal) => unknown, traits: Partial<Tool> = {}): Tool =>
    tool(
      name,
      async (_, { callId, signal, progress }) => {
        ran.push(callId);
        running += 1;
        peak = Math.max(peak, running);
        // After its signal fires, a call no longer counts as running, even if its code goes on.
        const leave = (): void => void (running -= 1);
        signal.addEventListener("abort", leave, { once: true });
        progress(name);
        try {
          return await execute(signal);
        } finally {
          signal.removeEventListener("abort", leave);
          if (!signal.aborted) leave();
        }
      },
      traits,
    );
  const release = createContextRelease();
  const fails = (): never => {
    throw new Error("out of order");
  };
  const tools = [
    tool("quick", (args, { callId, iteration }) => (ran.push(callId), force.add(iteration - 2), args), { eager }),
    add("slow", () => later(50, "slow"), { eager }),
    add("slower", () => later(180, "slower")),
    add("alone", () => later(20, "alone"), { sequential: true }),
    add("broken", fails),
    add("deaf", () => never),
    add(
      "polite",
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ),
    add("restart", () =>
      contextRestart({ type: "context_restart_x", enhanced_context_item: { at: "home" }, disable_tools: ["picky"] }),
    ),
    add("over", () => toolResult({ data: "bye", endTurn: true })),
    add("fatal", () => Promise.reject(new FatalToolError("gone"))),
    add("timely", () => never, { timeoutMs: 70 }),
    add("flaky", () => later(30, toolResult({ success: false, error: "busy" })), { idempotent: true, retry: { maxAttempts: 3 } }),
    add("picky", () => 7n),
    add("checked", () => "fine", { inputSchema: ponder(later), eager }),
    {
      ...release,
      execute: (args: ReleaseRequest, context: ToolContext) => (ran.push(context.callId), release.execute(args, context)),
    },
  ];
  return { tools, ran, peak: () => peak, later, timers, force };
}
