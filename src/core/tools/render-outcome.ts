// The text of each outcome for the model, and which outcomes count as errors.

import type { Json } from "../types/json.ts";
import type { Issue } from "../types/common.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { cutText, quote } from "../utils/texts.ts";

const longestName = 64;

type Kind = ToolOutcome["kind"];
type OutcomeOf<Wanted extends Kind> = ToolOutcome & { readonly kind: Wanted };

/**
 * The model's text for each kind; a kind without a line here does not compile. The statuses of failed and blocked calls
 * are those that prompts in use were written for.
 */
const renderers: { readonly [Each in Kind]: (outcome: OutcomeOf<Each>) => Json } = {
  completed: ({ data }) => data,
  failed: (outcome) => report(outcome, "tool_execution_failed", outcome.error.message || outcome.error.name),
  "timed-out": (outcome) => report(outcome, "tool_execution_failed", `timed out after ${outcome.limitMs} ms`),
  blocked: (outcome) => ({
    status: outcome.by === "tool-choice" ? "blocked_by_tool_choice" : "blocked_by_deliberate_tool_mode",
    functionName: nameOf(outcome),
    allowedToolNames: listNames(outcome.allowed, outcome.more),
  }),
  denied: (outcome) => report(outcome, "denied", outcome.reason),
  "approval-failed": (outcome) => report(outcome, "approval_failed", "no decision about it could be made, so it was not run"),
  "unknown-tool": renderUnknownTool,
  "invalid-input": (outcome) => report(outcome, "invalid_input", renderIssues(outcome.issues)),
  malformed: (outcome) => report(outcome, "malformed_arguments", outcome.message ?? "the arguments are not valid JSON"),
  truncated: (outcome) =>
    report(outcome, "truncated", "the call was cut off before it was complete, so it was not run; send it again, shorter"),
  interrupted: (outcome) => report(outcome, "interrupted", "it was cut off before it ended, so it may have run"),
  "not-run": (outcome) => report(outcome, "not_run", "the run ended before it was this call's turn"),
  limit: (outcome) =>
    report(outcome, "limit", "the limit of tool calls is reached, so it was not run; answer with what there is"),
};

/**
 * The text of one call for the model: the tool's data as they are, or the fate of the call instead. Never a stack trace, and
 * of a name only so much as a tool's name may have.
 */
export function renderOutcome(outcome: ToolOutcome): Json {
  return render(outcome.kind, outcome);
}

/** Its type parameter lets the compiler see that a line of the table and its outcome are of one kind. */
function render<Each extends Kind>(kind: Each, outcome: OutcomeOf<Each>): Json {
  return renderers[kind](outcome);
}

/** The meaning of each kind. `completed` sets the tool errors in a row back to 0; kinds that are not errors do not change the count. */
const facts: { readonly [Each in Kind]: { readonly isError: boolean; readonly wasDispatched: boolean } } = {
  completed: { isError: false, wasDispatched: true },
  failed: { isError: true, wasDispatched: true },
  "timed-out": { isError: true, wasDispatched: true },
  blocked: { isError: true, wasDispatched: false },
  denied: { isError: false, wasDispatched: false },
  "approval-failed": { isError: false, wasDispatched: false },
  "unknown-tool": { isError: true, wasDispatched: false },
  "invalid-input": { isError: true, wasDispatched: false },
  malformed: { isError: true, wasDispatched: false },
  truncated: { isError: true, wasDispatched: false },
  interrupted: { isError: false, wasDispatched: true },
  "not-run": { isError: false, wasDispatched: false },
  limit: { isError: false, wasDispatched: false },
};

/** True for the outcomes that count towards `limits.maxConsecutiveToolErrors`. Of the others only "completed" resets the count. */
export function countsAsError(kind: Kind): boolean {
  return facts[kind].isError;
}

/** Whether a call with this outcome has, or may have, run. */
export function wasDispatched(kind: Kind): boolean {
  return facts[kind].wasDispatched;
}

/** Whether a call says that its run must not go on. */
export function isFatal(outcome: ToolOutcome): outcome is OutcomeOf<"failed"> {
  return outcome.kind === "failed" && outcome.fatal === true;
}

function report(outcome: ToolOutcome, status: string, reason: string | undefined): Json {
  return { status, ...(reason === undefined ? {} : { reason }), tool_name: nameOf(outcome) };
}

function renderUnknownTool(outcome: OutcomeOf<"unknown-tool">): Json {
  const { call, known, nearest, more } = outcome;
  const hint = nearest === undefined ? "" : ` Did you mean ${quote(nearest)}?`;
  return {
    status: "unknown_tool",
    reason: `There is no tool ${quote(call.name)}.${hint}`,
    tool_name: nameOf(outcome),
    available_tools: listNames(known, more),
  };
}

function listNames(named: readonly string[], more: number | undefined): readonly string[] {
  if (more === undefined) return named;
  return [...named, named.length === 0 ? `… ${more} tools, as listed in the results of other calls` : `… and ${more} more`];
}

/** Issues as one text, each behind the place in the value that it is about. */
export function renderIssues(issues: readonly Issue[]): string {
  return issues.map(renderIssue).join("; ");
}

function renderIssue({ message, path = [] }: Issue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

/** A model can write a name of any length, and would pay for reading it back. */
function nameOf({ call: { name } }: ToolOutcome): string {
  return cutText(name, longestName);
}
