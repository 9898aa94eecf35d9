// The text of each outcome for the model, and which outcomes count as errors.

import type { Json } from "../types/json.ts";
import type { Issue } from "../types/common.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { cutText, quote } from "../utils/texts.ts";

const longestName = 64;

/** Reasons of denials that no person gave. The model reads them. */
export const denials = {
  changedSchema: "The arguments do not fit the schema of the tool any more.",
  insideTool: "Nobody can be asked inside this tool.",
} as const;

type Kind = ToolOutcome["kind"];
type OutcomeOf<Wanted extends Kind> = ToolOutcome & { readonly kind: Wanted };

/** The text for each kind: a kind without a text does not compile. Existing prompts rely on the statuses of failed and blocked calls. */
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
  deferred: () => ({ status: "awaiting_result" }),
  limit: (outcome) =>
    report(outcome, "limit", "the limit of tool calls is reached, so it was not run; answer with what there is"),
};

/**
 * Returns the text of one call for the model: the tool's data unchanged, or the outcome in words. It never contains a stack
 * trace. Names are cut to the length of a tool name.
 */
export function renderOutcome(outcome: ToolOutcome): Json {
  return render(outcome.kind, outcome);
}

/** The type parameter shows the compiler that the renderer and the outcome have the same kind. */
function render<Each extends Kind>(kind: Each, outcome: OutcomeOf<Each>): Json {
  return renderers[kind](outcome);
}

/**
 * The properties of each kind. `completed` resets the count of consecutive tool errors to 0; kinds that are not errors do not
 * change it.
 */
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
  deferred: { isError: false, wasDispatched: true },
  limit: { isError: false, wasDispatched: false },
};

/** True for outcomes that count towards `limits.maxConsecutiveToolErrors`. Of the others only "completed" resets the count. */
export function countsAsError(kind: Kind): boolean {
  return facts[kind].isError;
}

/** True if a call with this outcome has run, or may have. */
export function wasDispatched(kind: Kind): boolean {
  return facts[kind].wasDispatched;
}

/** True if a call ends its run. */
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

/** Renders issues as one text. Each follows the path of its value. */
export function renderIssues(issues: readonly Issue[]): string {
  return issues.map(renderIssue).join("; ");
}

function renderIssue({ message, path = [] }: Issue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

/** Cuts the name of a tool. A model may write a name of any length, and would read it back in every request. */
function nameOf({ call: { name } }: ToolOutcome): string {
  return cutText(name, longestName);
}
