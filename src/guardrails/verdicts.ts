// The verdicts of checks, and the code that reads them.

import { describeValue, isRecord, type Json, textOrNone, toJson, toUsage, type Usage } from "../core/entry-kit.ts";

/** The tokens that a check used. A `LoopResult` fits, so that a check can return the result of a run as it is. */
export interface CheckSpending {
  readonly usage: Usage;
  /** The cost in USD. Undefined if it is unknown. */
  readonly costUSD?: number | undefined;
}

interface Spending {
  /** The tokens that the check used. They count towards the usage, the cost and the limits of the run. Default: none. */
  readonly spent?: CheckSpending | undefined;
}

interface Refusal {
  readonly kind: "refuse";
  /** The reason in the result of the run. For a tool call, the model reads it. Default: none. */
  readonly reason?: string | undefined;
  /** Plain data about the refusal, for the result of the run. Default: none. */
  readonly info?: Json | undefined;
}

/** The verdict about the input. "refuse" ends the run as `input-guardrail`. */
export type InputVerdict = ({ readonly kind: "pass" } | Refusal) & Spending;

/** The verdict about the output. "rewrite" replaces the whole text, and "refuse" ends the run as `output-guardrail`. */
export type OutputVerdict = InputVerdict | ({ readonly kind: "rewrite"; readonly text: string } & Spending);

/**
 * The verdict about a tool call. "rewrite" replaces the arguments, which are validated again. A call with rewritten arguments cannot
 * wait for a decision: it gets the outcome `approval-failed`.
 *
 * "refuse" denies the call, and the model reads the reason. With `endsRun: true`, the run ends as `tool-guardrail` instead, and no
 * other call of the message runs.
 */
export type ToolVerdict =
  | { readonly kind: "pass" }
  | { readonly kind: "rewrite"; readonly args: Json }
  | (Omit<Refusal, "info"> & { readonly endsRun?: boolean | undefined });

/** A verdict as plain data. `text` is set for "rewrite". */
export interface ReadVerdict {
  readonly verdict: "pass" | "rewrite" | "refuse";
  readonly text?: string | undefined;
  readonly reason?: string | undefined;
  readonly info?: Json | undefined;
  readonly spent?: CheckSpending | undefined;
}

/** Copies a verdict. Throws for an invalid one, because a check with a misspelt verdict would otherwise pass everything. */
export function readVerdict(value: unknown, mayRewrite: boolean): ReadVerdict {
  const { kind, text, reason, info, spent } = isRecord(value) ? value : {};
  const facts = { reason: textOrNone(reason), spent: readSpending(spent) };
  if (kind === "pass") return { verdict: kind, ...facts };
  if (kind === "refuse") return { verdict: kind, ...facts, info: info === undefined ? undefined : toJson(info) };
  if (kind === "rewrite" && mayRewrite && typeof text === "string") return { verdict: kind, ...facts, text };
  const expected = mayRewrite ? '"pass", "refuse" or "rewrite" (with a string "text")' : '"pass" or "refuse"';
  throw new TypeError(`A check must return an object whose "kind" is ${expected}, but returned ${describeValue(value)}.`);
}

function readSpending(value: unknown): CheckSpending | undefined {
  if (!isRecord(value)) return undefined;
  const { usage, costUSD } = value;
  const cost = typeof costUSD === "number" && Number.isFinite(costUSD) && costUSD >= 0 ? { costUSD } : {};
  return { usage: toUsage(usage), ...cost };
}
