// Policies as a run goes by them: with defaults for what was not said, and out of reach of what the caller changes later.

import type { LoopOptions } from "../../types/loop-options.ts";
import type { LoopDetection, LoopPolicies, PreToolTextPolicy } from "../../types/policies.ts";
import type { MaskingPolicy } from "../../types/results.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { listItems } from "../../utils/drop-promise.ts";
import type { LoopRule } from "../state/loop-detection.ts";
import { MaskedView, type MaskingRules } from "../state/masked-view.ts";
import type { InitialState } from "../state/loop-state.ts";
import type { ResolvedLimits } from "./resolve-limits.ts";

/** The bounds that decisions look at; `Infinity` means none. */
export interface Bounds {
  readonly maxIterations: number;
  readonly maxConsecutiveToolErrors: number;
  readonly maxRestarts: number;
  /** Equal iterations in a row that end the run. Default none. */
  readonly maxIdenticalCalls?: number | undefined;
  readonly maxPauses: number;
  readonly maxToolCalls: number;
  readonly maxTokens: number;
  /** Default none. */
  readonly maxCostUSD?: number | undefined;
  /** Whether a stream of unknown cost ends a run with a `maxCostUSD`. Default true. */
  readonly unknownCostEnds?: boolean | undefined;
  readonly wallClockMs: number;
  /** Whether a limit grants one more iteration without tools. */
  readonly finalAnswer: boolean;
  /** Whether there is an `onIteration` hook to ask. */
  readonly asksIteration: boolean;
  /** When repeated calls are reported, and whether they end the run. Default never. */
  readonly loopRule?: LoopRule | undefined;
  /** How often in a row an answer that does not fit its schema is asked for again; undefined where there is no schema. */
  readonly outputRetries?: number | undefined;
  /** When text before a call is the answer. Default as documented there. */
  readonly preToolText?: PreToolTextPolicy | undefined;
}

/** The bounds of a run: all of its limits, and what its policies and hooks add to them. */
export type RunBounds = ResolvedLimits & Bounds;

/** Makes the bounds of a run. */
export function toBounds({ policies = {}, hooks }: LoopOptions, limits: ResolvedLimits): RunBounds {
  const { finalAnswer, preToolText, loopDetection, output } = policies;
  return {
    ...limits,
    finalAnswer: finalAnswer === true,
    asksIteration: hooks?.onIteration !== undefined,
    preToolText: copyPolicy(preToolText),
    loopRule: toLoopRule(loopDetection),
    outputRetries: output === undefined ? undefined : (output.maxRetries ?? 2),
  };
}

function toLoopRule(policy: LoopDetection | undefined): LoopRule | undefined {
  return policy === undefined ? undefined : { threshold: policy.threshold ?? 3, action: policy.action ?? "warn" };
}

/** How calls are counted for `loopDetection`. */
export function toRepetition(policy: LoopDetection | undefined): InitialState["repetition"] {
  return policy === undefined ? undefined : { maxCycle: policy.maxCycle ?? 4, compareResults: policy.compareResults ?? false };
}

/** What is changed later, in a list that was handed in, does not change the run. */
function copyPolicy({ endAfterTextFamilies, suppressFollowUpAfterText }: PreToolTextPolicy = {}): PreToolTextPolicy {
  return {
    endAfterTextFamilies: endAfterTextFamilies?.slice(),
    suppressFollowUpAfterText: suppressFollowUpAfterText?.slice(),
  };
}

/** Results of more estimated tokens than this go through the stage. */
export const resultThresholds = { extractor: 15_000, cacher: 2_000 };

/** Results of fewer estimated tokens than this are never masked. */
const leastMasked = 500;

/** What a run without `policies.masking` goes by: only what a tool has released is masked. */
export const releaseOnly: MaskingRules = { keepIterations: Number.POSITIVE_INFINITY, minTokens: leastMasked, batchOf: 1 };

/** What is sent in place of the transcript, where the caller wants results masked. */
export function createView(policy: MaskingPolicy | undefined): MaskedView | undefined {
  if (policy === undefined) return undefined;
  const { keepIterations = 2, minTokens = leastMasked, batchOf = 1 } = policy;
  return new MaskedView({ keepIterations, minTokens, batchOf });
}

/** The names that an active gate lets through; undefined for all. */
export function allowedBy(gate: LoopPolicies["gate"]): ReadonlySet<string> | undefined {
  if (gate?.active !== true || gate.allowedNames === undefined) return undefined;
  try {
    return new Set(listItems(gate.allowedNames));
  } catch (error) {
    const option = "policies.gate.allowedNames";
    const details = { option, expected: "an array or a set of tool names", received: "one that throws" };
    throw new LoopError("invalid-option", details, { cause: error });
  }
}
