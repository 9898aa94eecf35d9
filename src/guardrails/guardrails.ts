// Reads the checks that `guardrails` gets, and calls the tool checks before the approval of the run.

import {
  type ApprovalContext,
  type ApprovalDecision,
  type Approve,
  askCallCheck,
  checkPortsOf,
  checkFields,
  type Checks,
  describeValue,
  type Guardrails,
  type Middleware,
  invalidOption,
  is,
  isRecord,
  isSameJson,
  isText,
  isWithin,
  type Json,
  textOrNone,
  toJson,
  type ToolCall,
  waitWhereNeeded,
  withSignal,
  needed,
} from "../core/entry-kit.ts";
import type { InputCheck, OutputCheck, ToolCheck } from "./checks.ts";
import { guardRequests } from "./middleware.ts";

/** The options of `guardrails`. `Context` is the type of the option `context` of the run. */
export interface GuardrailOptions<Context = unknown> {
  /** The checks of the user's input. They run at the same time. Default: none. */
  readonly input?: readonly InputCheck<Context>[] | undefined;
  /** The checks of the model's text and reasoning. They run in this order. Default: none. */
  readonly output?: readonly OutputCheck<Context>[] | undefined;
  /** The checks of tool calls. They run in this order. Default: none. */
  readonly tools?: readonly ToolCheck<Context>[] | undefined;
}

const list: readonly [string, (value: unknown) => boolean] = ["an array of checks", Array.isArray];
const optionChecks: Checks<GuardrailOptions> = { input: list, output: list, tools: list };
const parts: ReadonlySet<unknown> = new Set(["text", "reasoning"]);

const own: Checks<InputCheck> = {
  name: ["a string that is not empty", isText, undefined, true],
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
 * Checks the input, the output and the tool calls of a run. Pass the returned value as `policies.guardrails`. In events and
 * results, `guardrail` is the name of a check.
 *
 * - `input`: runs at the same time as each request with new user messages, such as the first one. Until all checks have passed, no
 *   part of the response is shown and no tool runs. A refusal cuts off the request and ends the run as `input-guardrail`.
 * - `output`: passes, rewrites or refuses the text of each response, before it is shown, recorded or used. A refusal ends the run as
 *   `output-guardrail`.
 * - `tools`: passes, rewrites or denies each tool call, like `policies.approve`.
 *
 * A check that throws or takes longer than `timeouts.hookMs` blocks like a refusal, and ends the run as `hook-failed`. If a tool
 * check fails, only the checked call fails, with the outcome `approval-failed`.
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
export function guardrails<Context = unknown>(options: GuardrailOptions<Context>): Guardrails {
  // The cast is safe: the run passes the value of its option `context`, which the caller declares to be a `Context`.
  return createGuardrails(options as GuardrailOptions);
}

function createGuardrails(options: GuardrailOptions): Guardrails {
  checkFields("guardrails", options, optionChecks);
  const input = readChecks("input", options.input, own);
  const output = readChecks("output", options.output, ofOutput);
  const tools = readChecks("tools", options.tools, own);
  if (input.length + output.length + tools.length === 0) {
    throw invalidOption("guardrails", "an object with at least one check", options);
  }
  const feature: GuardrailPolicy = {
    kind: "guardrails",
    toMiddleware: () => guardRequests({ input, output }),
    around: (approve?: Approve) => (tools.length === 0 ? approve : approveWithChecks(tools, approve)),
  };
  return feature;
}

interface GuardrailPolicy extends Guardrails {
  toMiddleware(): Middleware;
  /** Returns an approval function that calls the tool checks before `approve`. */
  around(approve?: Approve): Approve | undefined;
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

/**
 * Returns an approval that first calls the checks in order, and then `approve` with the rewritten arguments. Arguments that
 * `approve` edits are checked again. The approval throws if `approve` wants a call with rewritten arguments to wait for a decision.
 */
function approveWithChecks(checks: readonly ToolCheck[], approve: Approve = waitWhereNeeded): Approve {
  return async (call, context) => {
    const checked = await checkCall(checks, call, context);
    if (checked.denial !== undefined) return checked.denial;
    const { args, rewriter } = checked;
    const decision = await approve(rewriter === undefined ? call : { ...call, args }, context);
    if (decision.kind === "modify" && !isSameJson(toJson(decision.args), args)) {
      const edited = await checkCall(checks, { ...call, args: toJson(decision.args) }, context);
      return edited.denial ?? { kind: "modify", args: edited.args };
    }
    if (rewriter === undefined) return decision;
    // A waiting call has the arguments of the model, so an approval after the wait would undo the rewrite.
    if (decision.kind === "ask") throw refuseWaiting(rewriter);
    return decision.kind === "approve" ? { kind: "modify", args } : decision;
  };
}

interface CheckedCall {
  readonly args: Json;
  /** The name of the last check that rewrote the arguments. */
  readonly rewriter: string | undefined;
  readonly denial?: Extract<ApprovalDecision, { readonly kind: "deny" }>;
}

/** Calls the checks in order. The first check that refuses the arguments denies the call. */
async function checkCall(checks: readonly ToolCheck[], call: ToolCall, context: ApprovalContext): Promise<CheckedCall> {
  let { args } = call;
  let rewriter: string | undefined;
  for (const { name, check } of checks) {
    const verdict: unknown = await askToolCheck(check, { ...call, args: toJson(args) }, context);
    const { kind, reason, args: written, endsRun } = isRecord(verdict) ? verdict : {};
    if (kind === "refuse") {
      const guardrail = endsRun === true ? ({ name, endsRun } as const) : { name };
      return { args, rewriter, denial: { kind: "deny", reason: textOrNone(reason), guardrail } };
    }
    if (kind === "rewrite" && written !== undefined) {
      args = toJson(written);
      rewriter = name;
    } else if (kind !== "pass") throw refuseVerdict(name, verdict);
  }
  return { args, rewriter };
}

/** Calls a check for at most `timeouts.hookMs`. Outside a run, there is no time limit. */
function askToolCheck(check: ToolCheck["check"], call: ToolCall, context: ApprovalContext): unknown {
  const ports = checkPortsOf(context);
  if (ports === undefined) return check(call, context);
  const { tool, iteration, messages, session, context: app, needsApproval } = context;
  const fields = { tool, iteration, messages, session, context: app, needsApproval };
  return askCallCheck<unknown>((deadline) => check(call, withSignal(fields, deadline)), ports);
}

function refuseVerdict(name: string, verdict: unknown): TypeError {
  const expected = '"pass", "refuse" or "rewrite" (with "args")';
  return new TypeError(
    `The tool check "${name}" must return an object whose "kind" is ${expected}, but returned ${describeValue(verdict)}.`,
  );
}

function refuseWaiting(name: string): Error {
  return new Error(
    `The tool check "${name}" rewrote the arguments of a call that must wait for a decision. Refuse such a call, or approve it in "policies.approve".`,
  );
}
