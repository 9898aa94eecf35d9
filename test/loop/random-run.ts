// Runs that nobody thought of: random turns, tools, limits, and people who end the run, or talk to it, at random moments.

import fc from "fast-check";
import {
  type Approve,
  FatalToolError,
  type LoopDetection,
  type LoopLimits,
  type OutputPolicy,
  type StandardResult,
  type StandardSchema,
  type StopCondition,
  type Tool,
  toolResult,
} from "turnwright";
import {
  endEarly,
  fail,
  finish,
  type MockPart,
  type MockTurn,
  reasoning,
  stall,
  type TestClock,
  text,
  toolCall,
  wait,
} from "turnwright/testing";
import { never, tool } from "./play.ts";

/** Somebody who ends the run, or talks to it. */
export interface Verb {
  /** Below 0: before the run. */
  readonly atMs: number;
  readonly verb: "stop" | "kill" | "abort" | "steer" | "interrupt" | "drain";
  /** Tells messages apart. */
  readonly id: number;
}

/** All that is random about a run. */
export interface Plan {
  readonly turns: readonly MockTurn[];
  readonly limits: LoopLimits & { readonly wallClockMs: number | undefined };
  readonly settleMs: number;
  readonly verbs: readonly Verb[];
  readonly approve: "none" | "yes" | "no" | "late" | "never" | "edit";
  readonly hooks: boolean;
  readonly finalAnswer: boolean;
  readonly stopWhen: "none" | "calls" | "late" | "never";
  readonly loopDetection: LoopDetection | undefined;
  /** Whether the answer has to fit a schema. */
  readonly output: boolean;
  /** Where a saved journal is cut, from 0 to 1. */
  readonly cutAt: number;
}

const toolNames = [
  "quick",
  "slow",
  "slower",
  "alone",
  "broken",
  "deaf",
  "polite",
  "restart",
  "over",
  "fatal",
  "timely",
  "flaky",
  "nope",
  "picky",
  "checked",
] as const;

const call: fc.Arbitrary<MockPart> = fc
  .record({
    // Those that end nothing come more often, so that runs get anywhere.
    name: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("quick", "slow", "slower", "alone") },
      { weight: 2, arbitrary: fc.constantFrom(...toolNames) },
    ),
    id: fc.option(fc.constantFrom("x", "y", "call_p0_0", "call_p1_1"), { nil: undefined, freq: 2 }),
    rawArgs: fc.option(fc.constantFrom("{", "", "null"), { nil: undefined, freq: 6 }),
    fragments: fc.constantFrom(0, 2),
  })
  .map(({ name, ...options }) => toolCall(name, { edited: false }, options));

const end: fc.Arbitrary<readonly MockPart[]> = fc.oneof(
  { weight: 12, arbitrary: fc.constant([]) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("stop", "length", "refusal", "malformed-call", "paused", "continue", "error", "tool-calls")
      .map((reason) => [finish(reason as "stop")]),
  },
  { weight: 2, arbitrary: fc.constantFrom([stall()], [stall({ ignoreSignal: true })], [fail({ status: 503 })], [endEarly()]) },
);

const turn: fc.Arbitrary<MockTurn> = fc
  .tuple(
    fc.array(fc.constantFrom(text("So. ", { chunks: 2 }), reasoning("Hm."), wait(30), wait(300)), { maxLength: 3 }),
    fc.array(call, { maxLength: 4 }),
    end,
  )
  .map((parts) => parts.flat());

const unlessUndefined = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const arrayOfVerbs = (...verbs: readonly Verb["verb"][]): fc.Arbitrary<readonly Verb[]> =>
  fc
    .array(fc.tuple(fc.integer({ min: -90, max: 900 }), fc.constantFrom(...verbs)), { maxLength: 4 })
    .map((pairs) => pairs.map(([atMs, verb], id) => ({ atMs, verb, id })));

/** Any plan. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
  limits: fc.record({
    maxIterations: fc.integer({ min: 1, max: 5 }),
    maxConsecutiveToolErrors: fc.integer({ min: 1, max: 5 }),
    maxRestarts: fc.integer({ min: 0, max: 2 }),
    maxPauses: fc.integer({ min: 0, max: 2 }),
    toolConcurrency: fc.integer({ min: 1, max: 4 }),
    maxToolCalls: unlessUndefined(fc.integer({ min: 1, max: 5 })),
    wallClockMs: unlessUndefined(fc.integer({ min: 1, max: 1_500 })),
  }),
  settleMs: fc.constantFrom(0, 40, 500),
  verbs: fc.oneof(arrayOfVerbs("stop", "kill", "abort"), arrayOfVerbs("steer", "interrupt", "drain", "stop", "steer", "steer")),
  approve: fc.constantFrom("none", "none", "yes", "no", "late", "never", "edit"),
  hooks: fc.boolean(),
  finalAnswer: fc.boolean(),
  stopWhen: fc.constantFrom("none", "none", "none", "calls", "late", "never"),
  loopDetection: unlessUndefined(
    fc.record({
      threshold: fc.constant(2),
      action: fc.constantFrom("warn", "stop", "inject-warning"),
      compareResults: fc.boolean(),
    }),
  ),
  output: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  cutAt: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** Decides as the plan says. */
export function approvalOf({ approve }: Plan, { later }: Workshop): Approve | undefined {
  const decisions: { readonly [Kind in Exclude<Plan["approve"], "none">]: Approve } = {
    yes: () => ({ kind: "approve" }),
    no: ({ callId }) => (callId.endsWith("1") ? { kind: "deny" } : { kind: "approve" }),
    late: () => later(150, { kind: "approve" }),
    never: () => never,
    edit: ({ name }) => ({ kind: "modify", args: name === "picky" ? null : { edited: true } }),
  };
  return approve === "none" ? undefined : decisions[approve];
}

/** Stops as the plan says. */
export function stopOf({ stopWhen }: Plan, { later }: Workshop): StopCondition | undefined {
  const conditions: { readonly [Kind in Exclude<Plan["stopWhen"], "none">]: StopCondition } = {
    calls: ({ toolCallsExecuted }) => toolCallsExecuted > 1,
    late: ({ iteration }) => later(80, iteration > 2),
    never: ({ iteration }) => (iteration > 1 ? never : false),
  };
  return stopWhen === "none" ? undefined : conditions[stopWhen];
}

/** What the answer has to be, if anything: takes its time, and is never "So.", which is no JSON. */
export function outputOf({ output }: Plan, { later }: Workshop): OutputPolicy | undefined {
  if (!output) return undefined;
  const schema: StandardSchema = {
    "~standard": { version: 1, vendor: "test", validate: (value) => later(60, { value: { value } }) },
  };
  return { schema, jsonSchema: {}, maxRetries: 1 };
}

/** What the tools of a run did. */
export interface Workshop {
  readonly tools: readonly Tool[];
  /** The calls that ran, in order. */
  readonly ran: string[];
  /** How many ran at once, at most. */
  peak(): number;
  /** A value that takes its time. */
  later<T>(ms: number, value: T): Promise<T>;
  /** How many of those are still to come. */
  timers(): number;
}

/** A schema that takes its time, and refuses edits. */
function ponder(later: Workshop["later"]): StandardSchema {
  const judge = (value: unknown): StandardResult<unknown> =>
    JSON.stringify(value).includes("true") ? { issues: [{ message: "edited" }] } : { value };
  const jsonSchema = { input: () => ({ type: "object" }) };
  return { "~standard": { version: 1, vendor: "test", validate: (value) => later(60, judge(value)), jsonSchema } };
}

/** Makes the tools. Calls that run are added to `ran`. */
export function openWorkshop(clock: TestClock, ran: string[]): Workshop {
  let timers = 0;
  let running = 0;
  let peak = 0;
  const later = <T>(ms: number, value: T): Promise<T> => {
    timers += 1;
    return new Promise((resolve) => {
      clock.setTimeout(() => {
        timers -= 1;
        resolve(value);
      }, ms);
    });
  };
  const add = (name: string, execute: (signal: AbortSignal) => unknown, traits: Partial<Tool> = {}): Tool =>
    tool(
      name,
      async (_, { callId, signal, progress }) => {
        ran.push(callId);
        running += 1;
        peak = Math.max(peak, running);
        // What is left behind runs no longer, as far as the loop is concerned.
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
  const fails = (): never => {
    throw new Error("out of order");
  };
  const tools = [
    tool("quick", (args, { callId }) => (ran.push(callId), args)),
    add("slow", () => later(50, "slow")),
    add("slower", () => later(180, "slower")),
    add("alone", () => later(20, "alone"), { sequential: true }),
    add("broken", fails),
    add("deaf", () => never),
    add(
      "polite",
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ),
    add("restart", () => ({ type: "context_restart_x", enhanced_context_item: { at: "home" }, disable_tools: ["picky"] })),
    add("over", () => toolResult({ data: "bye", endTurn: true })),
    add("fatal", () => Promise.reject(new FatalToolError("gone"))),
    add("timely", () => never, { timeoutMs: 70 }),
    add("flaky", () => later(30, toolResult({ success: false, error: "busy" })), { idempotent: true, retry: { maxAttempts: 3 } }),
    add("picky", () => 7n),
    add("checked", () => "fine", { inputSchema: ponder(later) }),
  ];
  return { tools, ran, peak: () => peak, later, timers: () => timers };
}
