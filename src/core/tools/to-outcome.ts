// What a tool gave, as an outcome: its value, its ToolResult or what it threw.

import type { ContentPart } from "../types/content.ts";
import type { PlainError } from "../types/plain-error.ts";
import type { ToolResult } from "../types/tool.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { isFatalToolError } from "../errors/fatal-tool-error.ts";
import { isThenable } from "../utils/is-thenable.ts";
import { tidyMessage, toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/to-json.ts";
import { signalOf } from "./loop-signal.ts";
import { isContentPart, isToolResult } from "./tool-result.ts";

type WithoutCall<Outcome> = Outcome extends unknown ? Omit<Outcome, "call" | "durationMs" | "approvedArgs"> : never;

/** A call that succeeded, still without the facts of the call. */
export type Completion = WithoutCall<Extract<ToolOutcome, { readonly kind: "completed" }>>;

/** A call that failed, still without the facts of the call. */
export type Failure = WithoutCall<Extract<ToolOutcome, { readonly kind: "failed" }>>;

/** How a call ended, and what only listeners hear of it. */
export interface ToolEnding {
  readonly outcome: Completion | Failure;
  readonly metadata?: unknown;
}

/**
 * Reads what a tool returned, its promise already awaited. A plain value is a success, and `undefined` the data null. What
 * JSON cannot say (cycles, BigInt, functions) is a failure, and so is an Error that was returned instead of thrown, which
 * would read as an empty object.
 */
export function toOutcome(output: unknown): ToolEnding {
  if (!isToolResult(output)) return { outcome: output instanceof Error ? toFailure(output) : complete(output) };
  const outcome = output.success ? completeWith(output) : failWith(output);
  return output.metadata === undefined ? { outcome } : { outcome, metadata: output.metadata };
}

/** Reads what a tool threw or rejected with; anything that is not an error keeps its text. `fatal` for a FatalToolError. */
export function toFailure(thrown: unknown): Failure {
  const error = toPlainError(thrown);
  return isFatal(thrown) ? { kind: "failed", error, fatal: true } : { kind: "failed", error };
}

/** Anything can be thrown, also what cannot be looked at. */
function isFatal(thrown: unknown): boolean {
  try {
    return isFatalToolError(thrown);
  } catch {
    return false;
  }
}

function complete(value: unknown): Completion | Failure {
  const lossy = lossyKindOf(value);
  if (lossy !== undefined) return unwritable(lossy);
  try {
    return { kind: "completed", data: value === undefined ? null : toJson(value) };
  } catch (error) {
    return unwritable(toPlainError(error).message);
  }
}

/** A success that has a message and no data gives the message as its data, so that the model reads it. */
function completeWith(result: ToolResult): Completion | Failure {
  const { data, message, content = [], endTurn } = result;
  if (!Array.isArray(content) || !content.every(isContentPart)) return unwritable("its content, which must be an array of parts");
  // Only a value that was returned itself has been awaited.
  if (isThenable(data)) return unwritable("a promise, which has to be awaited first");
  const completion = complete(data === undefined ? message : data);
  if (completion.kind === "failed") return completion;
  const kept = limitParts(content);
  const written = complete(kept);
  if (written.kind === "failed") return written;
  const { release, restart } = signalOf(result);
  return {
    ...completion,
    ...(kept.length === 0 ? {} : { content: kept }),
    ...(endTurn === true ? { endTurn } : {}),
    ...(release === undefined ? {} : { release }),
    ...(restart === undefined ? {} : { restart }),
  };
}

/** Parts of one result. Each costs what a message costs, in every request. */
const mostParts = 1_000;

/** A text that says nothing is left out, and so are parts that are too many. The model reads how many. */
function limitParts(content: readonly ContentPart[]): readonly ContentPart[] {
  const filled = content.filter((part) => part.type !== "text" || part.text !== "");
  if (filled.length <= mostParts) return filled;
  const left = filled.length - mostParts;
  return [...filled.slice(0, mostParts), { type: "text", text: `(${left} more parts of this result were left out.)` }];
}

function failWith({ message, error }: ToolResult): Failure {
  const reason = [message, error].find((text: unknown) => typeof text === "string" && text.trim() !== "");
  return { kind: "failed", error: toolFailure(reason ?? "The tool reported a failure without a reason.") };
}

/** What JSON would write as an empty object without a word. */
export function lossyKindOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  if (Symbol.asyncIterator in value) return "an async generator, which has to be read to its end first";
  const isIterator = Symbol.iterator in value && "next" in value && typeof value.next === "function";
  return isIterator ? "a generator, which has to be read to its end first" : undefined;
}

function unwritable(problem: string): Failure {
  return { kind: "failed", error: toolFailure(`The tool's result cannot be written as JSON: ${problem.replace(/\.$/, "")}.`) };
}

function toolFailure(message: string): PlainError {
  return { name: "ToolFailure", message: tidyMessage(message) };
}
