// What the model reads of each outcome, and which outcomes count as errors.

import type { Json } from "../contract/json.ts";
import type { Issue } from "../contract/schema.ts";
import type { ToolOutcome } from "../contract/tool-outcome.ts";
import { assertNever } from "../kit/assert-never.ts";
import { cutText } from "../kit/cut-text.ts";
import { quote } from "../kit/describe-value.ts";

const longestName = 64;

/** One kind of outcome. */
type Of<Kind extends ToolOutcome["kind"]> = Extract<ToolOutcome, { readonly kind: Kind }>;

/** What becomes of a result. The statuses of failed and blocked calls are those that existing prompts were written for. */
export function renderOutcome(outcome: ToolOutcome): Json {
  switch (outcome.kind) {
    case "completed":
      return outcome.data;
    case "failed":
      return report(outcome, "tool_execution_failed", outcome.error.message || outcome.error.name);
    case "timed-out":
      return report(outcome, "tool_execution_failed", `timed out after ${outcome.limitMs} ms`);
    case "blocked":
      return { status: "blocked_by_deliberate_tool_mode", functionName: nameOf(outcome), allowedToolNames: outcome.allowed };
    case "denied":
      return report(outcome, "denied", outcome.reason);
    case "unknown-tool":
      return renderUnknownTool(outcome);
    case "invalid-input":
      return report(outcome, "invalid_input", outcome.issues.map(renderIssue).join("; "));
    case "malformed":
      return report(outcome, "malformed_arguments", outcome.message ?? "the arguments are not valid JSON");
    case "truncated":
      return report(outcome, "truncated", "the call was cut off before it was complete, so it was not run; send it again, shorter");
    case "interrupted":
      return report(outcome, "interrupted", "it was cut off before it ended, so it may have run");
    case "not-run":
      return report(outcome, "not_run", "the run ended before it was this call's turn");
    case "limit":
      return report(outcome, "limit", "the limit of tool calls is reached, so it was not run; answer with what there is");
    default:
      return assertNever(outcome);
  }
}

/** Whether each kind adds to the tool errors in a row. `completed` sets them back to 0; the others leave them alone. */
const errors: { readonly [Kind in ToolOutcome["kind"]]: boolean } = {
  completed: false,
  failed: true,
  "timed-out": true,
  blocked: true,
  denied: false,
  "unknown-tool": true,
  "invalid-input": true,
  malformed: true,
  truncated: true,
  interrupted: false,
  "not-run": false,
  limit: false,
};

/** True for the outcomes that count towards `limits.maxConsecutiveToolErrors`. Of the others only "completed" resets the count. */
export function countsAsError(kind: ToolOutcome["kind"]): boolean {
  return errors[kind];
}

function report(outcome: ToolOutcome, status: string, reason: string | undefined): Json {
  return { status, ...(reason === undefined ? {} : { reason }), tool_name: nameOf(outcome) };
}

function renderUnknownTool(outcome: Of<"unknown-tool">): Json {
  const { call, known, nearest } = outcome;
  const hint = nearest === undefined ? "" : ` Did you mean ${quote(nearest)}?`;
  return {
    status: "unknown_tool",
    reason: `There is no tool ${quote(call.name)}.${hint}`,
    tool_name: nameOf(outcome),
    available_tools: known,
  };
}

function renderIssue({ message, path = [] }: Issue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

/** A model can write a name of any length, and would pay for reading it back. */
function nameOf({ call: { name } }: ToolOutcome): string {
  return cutText(name, longestName);
}
