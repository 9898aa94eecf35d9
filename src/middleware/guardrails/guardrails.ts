// Implements `guardrails`: reads its checks and validates them.

import { checkFields, type Checks, invalidOption, is, isRecord, needed } from "../../core/kit.ts";
import type { Middleware } from "../../core/index.ts";
import { isText, isWithin } from "../../shared/errors/check-fields.ts";
import type { InputCheck, OutputCheck, ToolCheck } from "./checks.ts";
import { guardCalls } from "./guard-calls.ts";
import { guardRequests } from "./middleware.ts";

/** The options for `guardrails`. `Context` is the type of the run's `context` option. */
export interface GuardrailOptions<Context = unknown> {
  /** The checks for the user's input. They run at the same time. Default: none. */
  readonly input?: readonly InputCheck<Context>[] | undefined;
  /** The checks for the model's text and reasoning. They run in this order. Default: none. */
  readonly output?: readonly OutputCheck<Context>[] | undefined;
  /** The checks for tool calls. They run in this order. Default: none. */
  readonly tools?: readonly ToolCheck<Context>[] | undefined;
}

const list: readonly [string, (value: unknown) => boolean] = ["an array of checks", Array.isArray];
const optionChecks: Checks<GuardrailOptions> = { input: list, output: list, tools: list };
const parts: ReadonlySet<unknown> = new Set(["text", "reasoning"]);

const own: Checks<InputCheck> = {
  name: ["a non-empty string", isText, undefined, true],
  check: /* @__PURE__ */ needed(is.fn),
};
const ofOutput: Checks<OutputCheck> = {
  ...own,
  window: ["a whole number of characters, at least 1", (value) => isWithin(value, { min: 1 })],
  parts: [
    'an array with "text", "reasoning" or both',
    (value) => Array.isArray(value) && value.length > 0 && value.every((part) => parts.has(part)),
  ],
};

/**
 * Checks a run's input, output and tool calls. Put it before `approve`, so that a refused call needs no approval. In events and
 * results, `guardrail` is the name of a check.
 *
 * - `input`: runs at the same time as each request that has new user messages, such as the first. Until all checks have passed, no part of
 *   the response is shown and no tool runs. A refusal cancels the request and ends the run as `input-guardrail`.
 * - `output`: passes, rewrites or refuses the text of each response, before it is shown, recorded or used. A refusal ends the run as
 *   `output-guardrail`.
 * - `tools`: passes, rewrites or denies each tool call. Arguments that an approval has edited are checked again.
 *
 * A check that throws or takes longer than `timeouts.callbackMs` blocks content like a refusal, and ends the run as `hook-failed`. If a
 * tool check fails, only the checked call fails, with the outcome `approval-failed`.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example
 * const guard = guardrails({
 *   output: [{ name: "phone", window: 40, check: ({ text }) => ({ kind: "rewrite", text: text.replaceAll(/\d{6,}/g, "[number]") }) }],
 * });
 * await runToolLoop({ provider, messages, middleware: [guard] });
 */
export function guardrails<Context = unknown>(options: GuardrailOptions<Context>): Middleware {
  // Safe cast: checks receive the run's `context` option, which the caller declares to be a `Context`.
  return createGuardrails(options as GuardrailOptions);
}

function createGuardrails(options: GuardrailOptions): Middleware {
  checkFields("guardrails", options, optionChecks);
  const input = readChecks("input", options.input, own);
  const output = readChecks("output", options.output, ofOutput);
  const tools = readChecks("tools", options.tools, own);
  if (input.length + output.length + tools.length === 0) {
    throw invalidOption("guardrails", "an object with at least one check", options);
  }
  return {
    name: "guardrails",
    begin: (run) => ({
      ...(input.length + output.length > 0 && guardRequests({ input, output }, run)),
      ...(tools.length > 0 && guardCalls(tools, run)),
    }),
  };
}

function readChecks<Check extends object>(
  stage: string,
  checks: readonly Check[] = [],
  rules: Checks<{ readonly name: unknown; readonly check: unknown }>,
): readonly Check[] {
  return checks.map((check, index) => {
    const option = `guardrails.${stage}[${index}]`;
    if (!isRecord(check)) throw invalidOption(option, 'an object with "name" and "check"', check);
    checkFields(option, check, rules);
    return { ...check };
  });
}
