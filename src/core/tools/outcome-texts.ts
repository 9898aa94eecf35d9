// The texts that the model reads instead of a result if a call did not complete.

import type { ContentPart, Issue, Json } from "../types/common.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { cutText, quote } from "../utils/texts.ts";

const longestName = 64;

export const denials = {
  changedSchema: "The arguments no longer fit the schema of the tool.",
  insideTool: "Calls inside this tool cannot request a decision.",
} as const;

type Kind = ToolOutcome["kind"];
type OutcomeOf<Wanted extends Kind> = ToolOutcome & { readonly kind: Wanted };

/** Existing prompts rely on the statuses of failed and blocked calls, so do not rename them. */
const renderers: { readonly [Each in Kind]: (outcome: OutcomeOf<Each>) => Json } = {
  completed: ({ data }) => data,
  failed: (outcome) => ({
    ...report(outcome, "tool_execution_failed", outcome.error.message || outcome.error.name),
    ...(outcome.data === undefined ? {} : { data: outcome.data }),
  }),
  "timed-out": (outcome) => report(outcome, "tool_execution_failed", `timed out after ${outcome.limitMs} ms`),
  blocked: (outcome) => ({
    status: outcome.by === "tool-choice" ? "blocked_by_tool_choice" : "blocked_by_deliberate_tool_mode",
    functionName: nameOf(outcome),
    allowedToolNames: listNames(outcome.allowed, outcome.more),
  }),
  denied: (outcome) => report(outcome, "denied", outcome.reason),
  "approval-failed": (outcome) =>
    report(outcome, "approval_failed", "no decision about the call could be made, so the call was not run"),
  "unknown-tool": renderUnknownTool,
  "invalid-input": (outcome) => report(outcome, "invalid_input", renderIssues(outcome.issues)),
  malformed: (outcome) => report(outcome, "malformed_arguments", outcome.message ?? "the arguments are not valid JSON"),
  truncated: (outcome) =>
    report(outcome, "truncated", "the call was cut off before it was complete, so it was not run; send a shorter call"),
  interrupted: (outcome) => report(outcome, "interrupted", "the call was cut off before it ended, so it may have run"),
  "not-run": (outcome) => report(outcome, "not_run", "the run ended before this call started"),
  deferred: () => ({ status: "awaiting_result" }),
  limit: (outcome) =>
    report(outcome, "limit", "the limit of tool calls is reached, so the call was not run; answer with the results you have"),
};

/** Returns what the model reads: the tool's data unchanged, or a status with a reason. Never contains a stack trace. */
export function renderOutcome(outcome: ToolOutcome): Json {
  return render(outcome.kind, outcome);
}

function render<Each extends Kind>(kind: Each, outcome: OutcomeOf<Each>): Json {
  return renderers[kind](outcome);
}

/** A message with one of these outcomes, and without the outcome `completed`, adds 1 to the count of consecutive tool errors. */
const errors: ReadonlySet<Kind> = new Set([
  "failed",
  "timed-out",
  "blocked",
  "unknown-tool",
  "invalid-input",
  "malformed",
  "truncated",
]);

/** The outcomes of calls whose tool has run. A log may contain an unknown kind. */
const dispatched: ReadonlySet<string> = new Set<Kind>(["completed", "failed", "timed-out", "interrupted", "deferred"]);

export function countsAsError(kind: Kind): boolean {
  return errors.has(kind);
}

export function wasDispatched(kind: string): boolean {
  return dispatched.has(kind);
}

export function isFatal(outcome: ToolOutcome): outcome is OutcomeOf<"failed"> {
  return outcome.kind === "failed" && outcome.fatal === true;
}

/** Returns the content parts of a tool's result. */
export function contentOf(outcome: ToolOutcome): readonly ContentPart[] {
  return ("content" in outcome ? outcome.content : undefined) ?? [];
}

function report(outcome: ToolOutcome, status: string, reason: string | undefined): { readonly [field: string]: Json } {
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
  return [
    ...named,
    named.length === 0 ? `… ${more} tools, which are listed in the results of other calls` : `… and ${more} more`,
  ];
}

export function renderIssues(issues: readonly Issue[]): string {
  return issues.map(renderIssue).join("; ");
}

function renderIssue({ message, path = [] }: Issue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

/** Cuts the name, because a model may write a very long name, and each later request would repeat it. */
function nameOf({ call: { name } }: ToolOutcome): string {
  return cutText(name, longestName);
}
