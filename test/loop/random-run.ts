// Generates random runs: model messages, tools, limits, and control calls at random moments.

import fc from "fast-check";
import type { LoopLimits } from "turnwright";
import type { LoopDetectionOptions, MaskingOptions } from "../../src/core/types/middleware-options.ts";
import {
  endEarly,
  fail,
  finish,
  type MockPart,
  type MockMessage,
  reasoning,
  stall,
  text,
  toolCall,
  wait,
} from "turnwright/testing";

export interface Verb {
  /** The time of the control call, in milliseconds. If it is negative, the call comes before the start of the run. */
  readonly atMs: number;
  readonly verb: "stop" | "kill" | "abort" | "steer" | "interrupt" | "drain";
  readonly id: number;
}

export interface Plan {
  readonly turns: readonly MockMessage[];
  readonly limits: LoopLimits & { readonly wallClockMs: number | undefined };
  readonly toolCleanupMs: number;
  readonly verbs: readonly Verb[];
  readonly maxRestarts: number;
  readonly approve: "none" | "yes" | "no" | "late" | "never" | "edit" | "ask";
  readonly hooks: boolean;
  readonly finalAnswer: boolean;
  readonly stopWhen: "none" | "calls" | "late" | "never";
  readonly loopDetection: LoopDetectionOptions | undefined;
  /** True if the answer must match a schema. */
  readonly output: boolean;
  /** True if tools are eager. Such a plan has no policy that could deny calls. */
  readonly eager: boolean;
  readonly prices: "none" | "all" | "some";
  readonly results: "none" | "short" | "late" | "broken";
  readonly masking: Pick<MaskingOptions, "keepIterations" | "batchOf"> | undefined;
  readonly wrapping: "none" | "retry" | "fallback";
  /** The share of a saved journal that is kept, from 0 to 1. */
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
  "context_release",
] as const;

const call: fc.Arbitrary<MockPart> = fc
  .record({
    // Tools that never end the run occur more often in this list, so that runs are long enough.
    name: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("quick", "slow", "slower", "alone") },
      { weight: 2, arbitrary: fc.constantFrom(...toolNames) },
    ),
    id: fc.option(fc.constantFrom("x", "y", "call_i0_0", "call_i1_1"), { nil: undefined, freq: 2 }),
    rawArgs: fc.option(fc.constantFrom("{", "", "null"), { nil: undefined, freq: 6 }),
    fragments: fc.constantFrom(0, 2),
    // The tool "checked" rejects arguments with edited: true.
    edited: fc.constantFrom(false, false, true),
    ids: fc.constantFrom(undefined, ["x", "call_i0_0"], ["x", "__proto__"], [7], []),
  })
  .map(({ name, ids, edited, ...options }) =>
    toolCall(name, name === "context_release" && ids !== undefined ? { call_ids: ids } : { edited }, options),
  );

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

const turn: fc.Arbitrary<MockMessage> = fc
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

const whatever: fc.Arbitrary<Plan> = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
  limits: fc.record({
    maxIterations: fc.integer({ min: 1, max: 5 }),
    maxConsecutiveToolErrors: fc.integer({ min: 1, max: 5 }),
    maxPauses: fc.integer({ min: 0, max: 2 }),
    toolConcurrency: fc.integer({ min: 1, max: 4 }),
    maxToolCalls: unlessUndefined(fc.integer({ min: 1, max: 5 })),
    wallClockMs: unlessUndefined(fc.integer({ min: 1, max: 1_500 })),
    maxCostUSD: unlessUndefined(fc.double({ min: 0, max: 0.2, noNaN: true })),
    onUnknownCost: fc.constantFrom("end", "continue"),
  }),
  toolCleanupMs: fc.constantFrom(0, 40, 500),
  verbs: fc.oneof(arrayOfVerbs("stop", "kill", "abort"), arrayOfVerbs("steer", "interrupt", "drain", "stop", "steer", "steer")),
  maxRestarts: fc.integer({ min: 0, max: 2 }),
  approve: fc.constantFrom("none", "none", "yes", "no", "late", "never", "edit", "ask"),
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
  eager: fc.boolean(),
  prices: fc.constantFrom("none", "all", "some"),
  results: fc.constantFrom("none", "none", "short", "late", "broken"),
  masking: unlessUndefined(
    fc.record({ keepIterations: fc.integer({ min: 1, max: 3 }), batchOf: fc.integer({ min: 1, max: 2 }) }),
  ),
  wrapping: fc.constantFrom("none", "none", "retry", "fallback"),
  cutAt: fc.double({ min: 0, max: 1, noNaN: true }),
});

/**
 * Generates random plans. Costs are limited only if there are prices. Plans with eager tools have no policies that could prevent
 * an early start of these tools.
 */
export const plans: fc.Arbitrary<Plan> = whatever.map((plan) => {
  const { eager, prices, limits, loopDetection } = plan;
  const paid: Plan = prices === "none" ? { ...plan, limits: { ...limits, maxCostUSD: undefined } } : plan;
  if (!eager) return paid;
  return {
    ...paid,
    limits: { ...paid.limits, maxToolCalls: undefined },
    approve: "none",
    stopWhen: "none",
    loopDetection: loopDetection && { ...loopDetection, action: "warn" },
  };
});
