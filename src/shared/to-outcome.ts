// Creates outcomes from the values that tools return, and formats them as text for the model.

import type { ContentPart, Issue, Json, PlainError } from "../core/types/common.ts";
import type { Steps } from "./cancellation/deadline.ts";
import { hasBrand, isLiteral, isRecord, isThenable, type UnknownRecord } from "./guards.ts";
import type { ContextRelease, Handoff, ToolOutcome } from "../core/types/tool-outcome.ts";
import { tidyMessage, toPlainError } from "./plain-error.ts";
import { isPlainData, toJson } from "./json.ts";
import type { OutsideResult } from "../core/types/middleware-options.ts";
import type { Deferred, ToolResult } from "../core/types/tool.ts";
import { edges } from "./edges.ts";
import { cutText, quote } from "./texts.ts";

// These symbols are global, so that values from every loaded copy of the package are recognized.
export const resultBrand: unique symbol = Symbol.for("turnwright.ToolResult");
const deferral: unique symbol = Symbol.for("turnwright.Deferred");
export const fatalBrand: unique symbol = Symbol.for("turnwright.FatalToolError");
export const mark: unique symbol = Symbol.for("turnwright.LoopSignal");

/** Creates the same result as `toolResult({ error })`, without its checks. */
export function failedResult(error: string): ToolResult {
  const result: ToolResult & { readonly [resultBrand]: true } = { [resultBrand]: true, success: false, error };
  return result;
}

/** True for a value created by `toolResult`, from any copy of the package. */
export function isToolResult(value: unknown): value is ToolResult {
  return hasBrand(value, resultBrand);
}

/** Creates the value that defers a call's result. */
export function createDeferred(fromPage: boolean): Deferred {
  const value: Deferred & { readonly [deferral]: true } = { [deferral]: true, kind: "deferred", ...(fromPage && { fromPage }) };
  return value;
}

type WithoutCall<Outcome> = Outcome extends unknown ? Omit<Outcome, "call" | "durationMs" | "approvedArgs"> : never;

export type Conclusion<Kind extends ToolOutcome["kind"] = ToolOutcome["kind"]> = WithoutCall<
  Extract<ToolOutcome, { readonly kind: Kind }>
>;

/**
 * Creates a call's outcome from the tool's awaited return value. A plain value is a success, and `undefined` becomes
 * null. A value that JSON cannot represent is a failure, and so is a returned Error, which JSON would represent as an empty
 * object. The value from `defer()` means that the result comes later.
 */
export function toOutcome(output: unknown): {
  readonly outcome: Conclusion<"completed" | "failed" | "deferred">;
  readonly metadata?: unknown;
} {
  if (hasBrand(output, deferral)) {
    const { fromPage } = output as Deferred;
    return { outcome: { kind: "deferred", ...(fromPage && { fromPage }) } };
  }
  if (!isToolResult(output)) return { outcome: output instanceof Error ? toFailure(output) : complete(output) };
  const outcome = output.success ? completeWith(output) : failWith(output);
  return output.metadata === undefined ? { outcome } : { outcome, metadata: output.metadata };
}

/** The problem with a result that a web page is not allowed to send. The error's message says what a page may send. */
export const pageProblem = "comes from a page";

interface WaitedFor {
  readonly what: string;
  readonly facts: Json;
}

/** True for a wait that `ask` opened. Its answer is an `OutsideResult`. */
export function isQuestion<Asked extends WaitedFor>(
  wait: Asked,
): wait is Asked & { readonly facts: { readonly question: { readonly [field: string]: Json } } } {
  return wait.what === "question" && isRecord(wait.facts) && isRecord(wait.facts["question"]);
}

export function isOutsideResult(value: unknown): value is OutsideResult {
  if (!isRecord(value)) return false;
  const { kind, result, error, fromPage = false } = value;
  // Rejects any other value, which would otherwise pass as a result from the server.
  if (typeof fromPage !== "boolean") return false;
  return kind === "failed" ? typeof error === "string" : kind === "result" && isExactData(result);
}

/** True if JSON can represent the whole value, apart from undefined fields. */
export function isExactData(value: unknown): boolean {
  return isPlainData(value) && isExact(value);
}

/** Works like `isExactData`, for a value without cycles. */
function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null)
    return value === null || typeof value === "string" || typeof value === "boolean";
  if (Array.isArray(value)) return value.every(isExact);
  return isLiteral(value) && Object.values(value).every((field) => field === undefined || isExact(field));
}

/**
 * Copies a result from outside the run for the journal. Omits `fromPage`, so that the record does not depend on whether the
 * caller passes `fromPage`.
 */
export function toRecordedResult(given: OutsideResult): OutsideResult {
  return given.kind === "result" ? { kind: "result", result: toJson(given.result) } : { kind: "failed", error: given.error };
}

export function concludeOutside(given: OutsideResult): Conclusion<"completed" | "failed"> {
  return given.kind === "result"
    ? { kind: "completed", data: given.result }
    : { kind: "failed", error: toolFailure(given.error) };
}

export function toFailure(thrown: unknown): Conclusion<"failed"> {
  const error = toPlainError(thrown);
  return hasBrand(thrown, fatalBrand) ? { kind: "failed", error, fatal: true } : { kind: "failed", error };
}

function complete(value: unknown): Conclusion<"completed" | "failed"> {
  const lossy = lossyKindOf(value);
  if (lossy !== undefined) return unwritable(lossy);
  try {
    return { kind: "completed", data: value === undefined ? null : toJson(value) };
  } catch (error) {
    return unwritable(toPlainError(error).message);
  }
}

/** Creates a successful outcome. A message without data becomes the data, because the model reads only the data. */
function completeWith(result: ToolResult): Conclusion<"completed" | "failed"> {
  const { data, message, content = [], endTurn } = result;
  const completion = complete(data === undefined ? message : data);
  if (completion.kind === "failed") return completion;
  const kept = content.filter((part) => part.type !== "text" || part.text !== "");
  const signal = mark in result ? (result[mark] as LoopSignal) : undefined;
  return { ...completion, ...(kept.length > 0 && { content: kept }), ...(endTurn === true && { endTurn }), ...signal };
}

/** Creates a failed outcome. If its data or content cannot be written, the reason mentions that too. */
function failWith({ message, error, data, content }: ToolResult): Conclusion<"failed"> {
  const reason =
    [message, error].find((text: unknown) => typeof text === "string" && text.trim() !== "") ??
    "The tool reported a failure without a reason.";
  const given = completeWith({ success: true, data, content });
  if (given.kind === "failed") return { kind: "failed", error: toolFailure(`${reason} ${given.error.message}`) };
  return {
    kind: "failed",
    error: toolFailure(reason),
    ...(data !== undefined && { data: given.data }),
    ...(given.content && { content: given.content }),
  };
}

/** True for a generator. False for arrays, maps and streams, which are iterable but are not generators. */
export function isGenerator(value: unknown): value is Steps {
  return isRecord(value) && typeof value["return"] === "function" && isIterator(value);
}

function isIterator(value: UnknownRecord): boolean {
  return typeof value["next"] === "function" && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

/** Creates the preliminary result for listeners. Returns undefined for a value that the tool could not return as a success. */
export function toPreliminary(value: unknown): Json | undefined {
  const { outcome } = toOutcome(value);
  return value === undefined || outcome.kind !== "completed" ? undefined : outcome.data;
}

/** Describes a value that JSON would reduce to nothing, such as a Map, and says what to do. */
export function lossyKindOf(value: unknown): string | undefined {
  const kind = lossyTagOf(value);
  return kind && (edges.adviseLossy?.(kind) ?? `a ${kind}`);
}

function lossyTagOf(value: unknown): string | undefined {
  if (isThenable(value)) return "Promise";
  if (!isRecord(value)) return undefined;
  // Checks the tag instead of the global `Response`, because accessing `Response` would make Node load `fetch`, which takes longer than a
  // short run.
  const tag: unknown = Reflect.get(value, Symbol.toStringTag);
  if (tag === "Map" || tag === "Set" || tag === "Response") return tag;
  return Symbol.asyncIterator in value || isIterator(value) ? "stream" : undefined;
}

function unwritable(problem: string): Conclusion<"failed"> {
  return { kind: "failed", error: toolFailure(`The tool's result cannot be written as JSON: ${problem.replace(/\.$/, "")}.`) };
}

export function toolFailure(message: string): PlainError {
  return { name: "ToolFailure", message: tidyMessage(message) };
}

/** A request that a tool result makes to the loop. The model does not read this request. */
export interface LoopSignal {
  readonly release?: ContextRelease | undefined;
  readonly load?: readonly string[] | undefined;
  readonly handoff?: Pick<Handoff, "to" | "reason"> | undefined;
  readonly restart?: true | undefined;
}

type Kind = ToolOutcome["kind"];
type OutcomeOf<Wanted extends Kind> = ToolOutcome & { readonly kind: Wanted };
type Told = Exclude<Kind, "completed" | "deferred" | "blocked">;
type Text<Each extends Kind> = readonly [status: string, reason: string | ((outcome: OutcomeOf<Each>) => string | undefined)];

/** The text for each kind of outcome. Existing prompts rely on the statuses of failed and blocked calls, so do not rename them. */
const texts: { readonly [Each in Told]: Text<Each> } = {
  failed: ["tool_execution_failed", ({ error }) => error.message || error.name],
  "timed-out": ["tool_execution_failed", ({ limitMs }) => `timed out after ${limitMs} ms`],
  denied: ["denied", ({ reason }) => reason],
  "approval-failed": ["approval_failed", "no decision about the call could be made, so the call was not run"],
  "unknown-tool": [
    "unknown_tool",
    ({ call, nearest }) =>
      `There is no tool ${quote(call.name)}.${nearest === undefined ? "" : ` Did you mean ${quote(nearest)}?`}`,
  ],
  "invalid-input": ["invalid_input", ({ issues }) => renderIssues(issues)],
  malformed: ["malformed_arguments", ({ message }) => message ?? "the arguments are not valid JSON"],
  truncated: ["truncated", "the call was cut off before it was complete, so it was not run; send a shorter call"],
  interrupted: ["interrupted", "the call was cut off before it ended, so it may have run"],
  "not-run": ["not_run", "the run ended before this call started"],
  limit: ["limit", "the limit of tool calls was reached, so the call was not run; answer with the results you have"],
};

/** Returns what the model reads: the tool's data unchanged, or a status with a reason. Never contains a stack trace. */
export function renderOutcome(outcome: ToolOutcome): Json {
  const { kind, call } = outcome;
  if (kind === "completed") return outcome.data;
  if (kind === "deferred") return { status: "awaiting_result" };
  // Truncates the name, because a model may write a very long one that each later request would repeat.
  const name = cutText(call.name, 64);
  if (kind === "blocked") {
    const by = outcome.by === "tool-choice" ? "tool_choice" : "deliberate_tool_mode";
    return { status: `blocked_by_${by}`, functionName: name, allowedToolNames: listNames(outcome.allowed, outcome.more) };
  }
  const [status, given] = texts[kind] as Text<never>;
  const reason = typeof given === "string" ? given : given(outcome as never);
  return {
    status,
    ...(reason !== undefined && { reason }),
    tool_name: name,
    ...(kind === "failed" && outcome.data !== undefined && { data: outcome.data }),
    ...(kind === "unknown-tool" && { available_tools: listNames(outcome.known, outcome.more) }),
  };
}

/**
 * Outcomes that count as errors. A message with at least one of them, and without a `completed` call, adds 1 to the count of consecutive
 * tool errors.
 */
const errors: ReadonlySet<Kind> = new Set([
  "failed",
  "timed-out",
  "blocked",
  "unknown-tool",
  "invalid-input",
  "malformed",
  "truncated",
]);

/** Outcomes of calls whose tool has run. A log may contain an unknown kind. */
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
