// Rebuilds the outcomes of logged calls from the results that the model read.

import {
  addSpending,
  type ContentPart,
  isRecord,
  isSameJson,
  type Json,
  type NestedSpending,
  noUsage,
  renderOutcome,
  type ToolCall,
  type ToolOutcome,
  type ToolResultPart,
  type UnknownRecord,
} from "../../core/entry-kit.ts";
import { totalsOf } from "../analysis/run-totals.ts";
import type { LoggedCall, LoggedRun } from "../log/run-log.ts";

interface CallParts {
  readonly logged: LoggedCall;
  readonly call: ToolCall;
  /** The arguments that an approval set in place of the model's arguments. */
  readonly approvedArgs?: Json | undefined;
  readonly sent?: ToolResultPart | undefined;
}

/**
 * Returns the outcome of a call. Returns undefined if the log does not have all of it, as for a call that restarted the context.
 */
export function toLoggedOutcome({ logged, call, approvedArgs, sent }: CallParts): ToolOutcome | undefined {
  const { durationMs = 0, result, runs, outcome: kind } = logged;
  if (kind === undefined || result === undefined || sent?.outcome === "restarted") return undefined;
  const nested = runs.length === 0 ? undefined : runs.map(spendingOf).reduce(addSpending);
  const base = { call, durationMs, ...(approvedArgs !== undefined && { approvedArgs }), ...(nested && { nested }) };
  const outcome = rebuild(kind, { base, result, content: sent?.content, handoff: logged.handoff });
  return outcome !== undefined && isSameJson(renderOutcome(outcome), result) ? outcome : undefined;
}

interface Rebuilding {
  readonly base: Pick<ToolOutcome, "call" | "durationMs" | "approvedArgs" | "nested">;
  readonly result: Json;
  readonly content: readonly ContentPart[] | undefined;
  readonly handoff: LoggedCall["handoff"];
}

type Rebuild = (rebuilding: Rebuilding, report: UnknownRecord) => ToolOutcome | undefined;

const reasonOf = ({ reason }: UnknownRecord): string | undefined => (typeof reason === "string" ? reason : undefined);
const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

const plain =
  (kind: "truncated" | "interrupted" | "limit" | "not-run"): Rebuild =>
  ({ base }) => ({ ...base, kind });

const rebuilders: { readonly [kind: string]: Rebuild | undefined } = {
  completed: ({ base, result, content, handoff }) => ({
    ...base,
    kind: "completed",
    data: result,
    ...(content && { content }),
    ...(handoff && { handoff }),
  }),
  failed: ({ base, content }, report) => ({
    ...base,
    kind: "failed",
    error: { name: "Error", message: reasonOf(report) ?? "" },
    data: report["data"] as Json | undefined,
    content,
  }),
  "timed-out": ({ base }, report) => {
    const limitMs = Number(/^timed out after (\d+(?:\.\d+)?) ms$/.exec(reasonOf(report) ?? "")?.[1]);
    return { ...base, kind: "timed-out", limitMs };
  },
  blocked: ({ base }, { status, allowedToolNames }) => {
    const by = status === "blocked_by_tool_choice" ? ({ by: "tool-choice" } as const) : {};
    return { ...base, kind: "blocked", allowed: textsIn(allowedToolNames), ...by };
  },
  denied: ({ base }, report) => ({ ...base, kind: "denied", reason: reasonOf(report) }),
  "approval-failed": ({ base }) => ({ ...base, kind: "approval-failed", error: { name: "Error", message: "" } }),
  "unknown-tool": ({ base }, report) => {
    const nearest = /Did you mean ("(?:[^"\\]|\\.)*")\?$/.exec(reasonOf(report) ?? "")?.[1];
    const hint = nearest === undefined ? {} : { nearest: JSON.parse(nearest) as string };
    return { ...base, kind: "unknown-tool", known: textsIn(report["available_tools"]), ...hint };
  },
  "invalid-input": ({ base }, report) => ({ ...base, kind: "invalid-input", issues: [{ message: reasonOf(report) ?? "" }] }),
  malformed: ({ base }, report) => ({ ...base, kind: "malformed", message: reasonOf(report) }),
  truncated: plain("truncated"),
  interrupted: plain("interrupted"),
  limit: plain("limit"),
  "not-run": plain("not-run"),
};

function rebuild(kind: string, rebuilding: Rebuilding): ToolOutcome | undefined {
  const { result } = rebuilding;
  return Object.hasOwn(rebuilders, kind) ? rebuilders[kind]?.(rebuilding, isRecord(result) ? result : {}) : undefined;
}

function spendingOf(run: LoggedRun): NestedSpending {
  const { usage = noUsage, costUSD, toolCallsExecuted = 0 } = run;
  return { usage, costUSD, ...(costUSD === undefined && { knownCostUSD: totalsOf(run).costUSD }), toolCallsExecuted };
}
