// `guardrails`, and the types of checks.

import {
  type ApprovalContext,
  type Approve,
  checkFields,
  checkNeeded,
  type Checks,
  type Guardrails,
  type InputOutputGuard,
  invalidOption,
  is,
  isRecord,
  isText,
  isWithin,
  type Message,
  type Session,
  type ToolCall,
  type UserMessage,
} from "../core/entry-kit.ts";
import { approveWithChecks } from "./approve-with-checks.ts";
import { guardRequest } from "./guard-request.ts";
import type { InputVerdict, OutputVerdict, ToolVerdict } from "./verdicts.ts";

/** Facts about the run, for a check. */
export interface CheckContext {
  readonly runId: string;
  readonly iteration: number;
  readonly session: Session;
  /** The value of the run's option `context`. */
  readonly context: unknown;
  /** Aborted if the run ends, or if the check takes longer than `timeouts.hookMs`. */
  readonly signal: AbortSignal;
}

/** The input that a check judges. */
export interface CheckedInput {
  /** The text of `newMessages`, with an empty line between two messages. */
  readonly text: string;
  /** The user messages that no check has passed yet: at the start of the run, or sent with `control.steer`. */
  readonly newMessages: readonly UserMessage[];
  /** The whole transcript. */
  readonly messages: readonly Message[];
}

/** A check of the user's input. It runs at the same time as the request, which is cut off if the check refuses. */
export interface InputCheck {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (input: CheckedInput, context: CheckContext) => InputVerdict | PromiseLike<InputVerdict>;
}

/** The output that a check judges. */
export interface CheckedOutput {
  /** The whole text of this part so far, as earlier checks have rewritten it. */
  readonly text: string;
  readonly part: "text" | "reasoning";
  /** False while the model is still writing this part. Always true for a check without `window`. */
  readonly isComplete: boolean;
  /** True if the message contains tool calls, so that its text is not the final answer. */
  readonly hasCalls: boolean;
}

/** A check of the text that the model writes. Checks run in order, and each one gets the text as the earlier ones rewrote it. */
export interface OutputCheck {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (output: CheckedOutput, context: CheckContext) => OutputVerdict | PromiseLike<OutputVerdict>;
  /**
   * The number of characters that are held back while the model writes, at least 1. The check is called again after as many new
   * characters, and text before the window is shown. It must find everything within this distance. Default: the whole text is held
   * back until it is complete.
   */
  readonly window?: number | undefined;
  /** The parts that the check judges. Default: both. */
  readonly parts?: readonly ("text" | "reasoning")[] | undefined;
}

/** A check of a tool call. It runs before `policies.approve`, after the arguments were validated. */
export interface ToolCheck {
  /** The name of the check, for events and results. */
  readonly name: string;
  readonly check: (call: ToolCall, context: ApprovalContext) => ToolVerdict | PromiseLike<ToolVerdict>;
}

/** The options of `guardrails`. */
export interface GuardrailOptions {
  /** The checks of the user's input. They run at the same time. Default: none. */
  readonly input?: readonly InputCheck[] | undefined;
  /** The checks of the model's text and reasoning. They run in this order. Default: none. */
  readonly output?: readonly OutputCheck[] | undefined;
  /** The checks of tool calls. They run in this order. Default: none. */
  readonly tools?: readonly ToolCheck[] | undefined;
}

const list: readonly [string, (value: unknown) => boolean] = ["an array of checks", Array.isArray];
const optionChecks: Checks<GuardrailOptions> = { input: list, output: list, tools: list };
const parts: ReadonlySet<unknown> = new Set(["text", "reasoning"]);

const own: Checks<InputCheck> = { name: ["a string that is not empty", isText], check: is.fn };
const ofOutput: Checks<OutputCheck> = {
  ...own,
  window: ["a whole number of characters, at least 1", (value) => isWithin(value, { min: 1 })],
  parts: [
    'an array with "text", "reasoning" or both',
    (value) => Array.isArray(value) && value.length > 0 && value.every((part) => parts.has(part)),
  ],
};

/**
 * Checks the input, the output and the tool calls of a run, as the value of `policies.guardrails`.
 *
 * - `input`: runs at the same time as the first request, and as each request with new user messages. Until all checks have passed,
 *   nothing of the response is shown and no tool runs. A refusal cuts the request off and ends the run as `input-guardrail`.
 * - `output`: passes, rewrites or refuses the text of each response, before it is shown, recorded or used. A refusal ends the run as
 *   `output-guardrail`.
 * - `tools`: passes, rewrites or denies each tool call, like `policies.approve`.
 *
 * A check that throws or takes longer than `timeouts.hookMs` ends the run as `hook-failed`, and nothing passes. A tool check has
 * `timeouts.approvalMs` instead, and its call gets the outcome `approval-failed`.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example
 * const policies = {
 *   guardrails: guardrails({
 *     output: [{ name: "phone", window: 40, check: ({ text }) => ({ kind: "rewrite", text: text.replaceAll(/\d{6,}/g, "[number]") }) }],
 *   }),
 * };
 */
export function guardrails(options: GuardrailOptions): Guardrails {
  checkFields("guardrails", options, optionChecks);
  const input = readChecks("input", options.input, own);
  const output = readChecks("output", options.output, ofOutput);
  const tools = readChecks("tools", options.tools, own);
  if (input.length + output.length + tools.length === 0) {
    throw invalidOption("guardrails", "an object with at least one check", options);
  }
  const feature: InputOutputGuard = {
    kind: "guardrails",
    begin: (run, key) => guardRequest(run, key, { input, output }),
    around: (approve?: Approve) => (tools.length === 0 ? approve : approveWithChecks(tools, approve)),
  };
  return Object.freeze(feature);
}

function readChecks<Check extends object>(
  stage: string,
  checks: readonly Check[] = [],
  rules: Checks<{ readonly name: unknown; readonly check: unknown }>,
): readonly Check[] {
  return checks.map((check, index) => {
    const option = `guardrails.${stage}[${index}]`;
    if (!isRecord(check)) throw invalidOption(option, 'an object with "name" and "check"', check);
    for (const name of ["name", "check"] as const) checkNeeded(option, check, { name, check: own[name] });
    checkFields(option, check, rules);
    return { ...check };
  });
}
