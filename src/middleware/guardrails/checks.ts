// Types for the checks of `guardrails`: their arguments and verdicts.

import type { ApprovalContext } from "../../core/types/middleware-options.ts";
import type { Json, Message, Session, ToolCall, Usage, UserMessage } from "../../core/index.ts";

/** The information about the run that a check receives. */
export interface CheckContext<Context = unknown> {
  readonly runId: string;
  readonly iteration: number;
  readonly session: Session;
  /** The value of the run's `context` option. */
  readonly context: Context;
  /** Aborted if the run ends, or if the check takes longer than `timeouts.callbackMs`. */
  readonly signal: AbortSignal;
}

/** The input that a check judges. */
export interface CheckedInput {
  /** The text of `newMessages`, with a blank line between messages. */
  readonly text: string;
  /** The user messages that have not passed the checks yet: from the start of the run, or sent with `control.steer`. */
  readonly newMessages: readonly UserMessage[];
  /** The whole transcript. */
  readonly messages: readonly Message[];
}

/** A check of the user's input. It runs at the same time as the request. If the check refuses the input, the request is cancelled. */
export interface InputCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (input: CheckedInput, context: CheckContext<Context>) => InputVerdict | PromiseLike<InputVerdict>;
}

/** The output that a check judges. */
export interface CheckedOutput {
  /** The whole text of this part so far, including the changes made by earlier checks. */
  readonly text: string;
  readonly part: "text" | "reasoning";
  /**
   * False while the model is still writing this part. Always true for a check without `window`. If a second response continues the first
   * one, the value is also true at the end of the first, because its text is then shown. During the second response, the check receives the
   * text of both.
   */
  readonly isComplete: boolean;
  /** True if the message contains tool calls, so that its text is not the final answer. */
  readonly hasCalls: boolean;
}

/** A check of the text that the model writes. Checks run in order. Each check gets the text as changed by the earlier checks. */
export interface OutputCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (output: CheckedOutput, context: CheckContext<Context>) => OutputVerdict | PromiseLike<OutputVerdict>;
  /**
   * The number of characters to hold back while the model writes, at least 1. The last `window` characters stay hidden, and the
   * text before them is shown. The check is called again after `window` new characters. Everything that the check looks for must
   * fit into the window. Default: the whole text is held back until it is complete.
   */
  readonly window?: number | undefined;
  /** The parts that the check judges. Default: both. */
  readonly parts?: readonly ("text" | "reasoning")[] | undefined;
}

/**
 * A check of a tool call. It runs after the arguments are validated, and before `approve`. If `approve` or a
 * decision edits the arguments, the check runs again before the edited arguments are validated.
 */
export interface ToolCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (call: ToolCall, context: ApprovalContext<Context>) => ToolVerdict | PromiseLike<ToolVerdict>;
}

/**
 * The tokens that a check used. A `LoopResult` has these fields, so a check that runs the loop can return the loop's result as
 * `spent`.
 */
export interface CheckSpending {
  readonly usage: Usage;
  /** The cost in USD. Undefined if it is unknown. */
  readonly costUSD?: number | undefined;
}

interface Spending {
  /** The tokens that the check used. They count toward the run's usage, cost and limits. Default: none. */
  readonly spent?: CheckSpending | undefined;
}

interface Refusal {
  readonly kind: "refuse";
  /** The reason for the refusal, for the run's result. For a tool call, the model reads the reason. Default: none. */
  readonly reason?: string | undefined;
  /** JSON data about the refusal, for the run's result. Default: none. */
  readonly info?: Json | undefined;
}

/** The verdict on the input. "refuse" ends the run as `input-guardrail`. */
export type InputVerdict = ({ readonly kind: "pass" } | Refusal) & Spending;

/** The verdict on the output. "rewrite" replaces the whole text, and "refuse" ends the run as `output-guardrail`. */
export type OutputVerdict = InputVerdict | ({ readonly kind: "rewrite"; readonly text: string } & Spending);

/**
 * The verdict on a tool call. "rewrite" replaces the arguments, which are validated again. Approval policies and people who decide see the
 * rewritten arguments.
 *
 * "refuse" denies the call, and the model reads the reason. With `endsRun: true`, the run ends as `tool-guardrail` instead, and no
 * other call in the message runs.
 */
export type ToolVerdict =
  | { readonly kind: "pass" }
  | { readonly kind: "rewrite"; readonly args: Json }
  | (Omit<Refusal, "info"> & { readonly endsRun?: boolean | undefined });
