// The checks that `guardrails` takes, and their arguments.

import type { ApprovalContext, Message, Session, ToolCall, UserMessage } from "../core/entry-kit.ts";
import type { InputVerdict, OutputVerdict, ToolVerdict } from "./verdicts.ts";

/** Facts about the run, for a check. */
export interface CheckContext<Context = unknown> {
  readonly runId: string;
  readonly iteration: number;
  readonly session: Session;
  /** The value of the run's option `context`. */
  readonly context: Context;
  /** Aborted if the run ends, or if the check takes longer than `timeouts.hookMs`. */
  readonly signal: AbortSignal;
}

/** The input that a check judges. */
export interface CheckedInput {
  /** The text of `newMessages`, with an empty line between two messages. */
  readonly text: string;
  /** The user messages that have not passed the checks yet: from the start of the run, or sent with `control.steer`. */
  readonly newMessages: readonly UserMessage[];
  /** The whole transcript. */
  readonly messages: readonly Message[];
}

/** A check of the user's input. It runs at the same time as the request, which is cut off if the check refuses. */
export interface InputCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (input: CheckedInput, context: CheckContext<Context>) => InputVerdict | PromiseLike<InputVerdict>;
}

/** The output that a check judges. */
export interface CheckedOutput {
  /** The whole text of this part so far, with the changes of earlier checks. */
  readonly text: string;
  readonly part: "text" | "reasoning";
  /**
   * False while the model is still writing this part. Always true for a check without `window`. Also true at the end of a response
   * that another response continues: its text is shown then, and the check gets the whole message with the next response.
   */
  readonly isComplete: boolean;
  /** True if the message contains tool calls, so that its text is not the final answer. */
  readonly hasCalls: boolean;
}

/** A check of the text that the model writes. Checks run in order, and each one gets the text with the changes of the earlier ones. */
export interface OutputCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (output: CheckedOutput, context: CheckContext<Context>) => OutputVerdict | PromiseLike<OutputVerdict>;
  /**
   * The number of characters that are held back while the model writes, at least 1. The check is called again after this number of
   * new characters, and text before the window is shown. Everything that the check looks for must fit into the window. Default: the
   * whole text is held back until it is complete.
   */
  readonly window?: number | undefined;
  /** The parts that the check judges. Default: both. */
  readonly parts?: readonly ("text" | "reasoning")[] | undefined;
}

/**
 * A check of a tool call. It runs before `policies.approve`, after the arguments were validated. It runs again for arguments that
 * `policies.approve` or a decision has edited, before they are validated.
 */
export interface ToolCheck<Context = unknown> {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (call: ToolCall, context: ApprovalContext<Context>) => ToolVerdict | PromiseLike<ToolVerdict>;
}
