import type { ContentPart, Json, PlainError } from "../types/common.ts";
import type { Steps } from "../cancellation/deadline.ts";
import { type Check, checkFields, type Checks, invalidOption, is } from "../errors/check-fields.ts";
import { edges } from "../utils/edges.ts";
import { hasBrand, isLiteral, isRecord, isThenable, type UnknownRecord } from "../utils/guards.ts";
import type { ContextRelease, Handoff, ToolOutcome } from "../types/tool-outcome.ts";
import { tidyMessage, toPlainError } from "../utils/plain-error.ts";
import { isPlainData, toJson } from "../utils/json.ts";
import type { OutsideResult } from "../types/policies.ts";
import type { Deferred, ToolResult } from "../types/tool.ts";

/** The fields of `toolResult`. `success` defaults to true, or to false if there is an `error`. */
export type ToolResultFields = Omit<ToolResult, "success"> & { readonly success?: boolean | undefined };

const brand: unique symbol = Symbol.for("turnwright.ToolResult");

const flag: Check = ["a boolean", is.flag[1]];

const resultChecks: Checks<ToolResult> = {
  success: flag,
  data: is.any,
  error: is.text,
  message: is.text,
  endTurn: flag,
  content: ["an array", Array.isArray],
  metadata: is.any,
};

/**
 * Makes a tool result with more than data. The result can report a failure without an exception, end the run, contain images and
 * files, and carry metadata for listeners. A plain object with the same fields is ordinary data.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if a field is unknown or has the wrong type.
 *
 * @example return toolResult({ data: { sent: true }, endTurn: true });
 * @example return toolResult({ success: false, message: "The inbox is full." });
 */
export function toolResult(fields: ToolResultFields): ToolResult {
  checkFields("toolResult", fields, resultChecks);
  const { success = fields.error === undefined, content } = fields;
  // The brand is enumerable, so that a copy made with `{ ...result }` is still a tool result.
  const result: ToolResult & { readonly [brand]: true } = Object.assign({ [brand]: true } as const, fields, { success });
  return content === undefined ? result : Object.assign(result, { content: content.map(toContentPart) });
}

/** Makes the same result as `toolResult({ error })`, without its checks. */
export function failedResult(error: string): ToolResult {
  const result: ToolResult & { readonly [brand]: true } = { [brand]: true, success: false, error };
  return result;
}

/** True for a value made by `toolResult`, from any copy of the package. */
export function isToolResult(value: unknown): value is ToolResult {
  return hasBrand(value, brand);
}

/** A global symbol, so that `toOutcome` recognizes the value of `context.defer()` from every loaded copy of the package. */
const deferral: unique symbol = Symbol.for("turnwright.Deferred");

function toJSON(): never {
  throw new TypeError("it contains the value of context.defer(), which the tool must return by itself");
}

export const deferred: Deferred = /* @__PURE__ */ Object.freeze({ [deferral]: true, kind: "deferred", toJSON });

export const deferredToPage: Deferred = /* @__PURE__ */ Object.freeze({ ...deferred, fromPage: true });

export function isContentPart(part: unknown): part is ContentPart {
  if (!isRecord(part)) return false;
  const { type, text, mediaType, data, filename } = part;
  if (type === "text") return typeof text === "string";
  if (filename !== undefined && typeof filename !== "string") return false;
  return (
    (type === "image" || type === "file") && typeof mediaType === "string" && (typeof data === "string" || data instanceof URL)
  );
}

function toContentPart(part: unknown, index: number): ContentPart {
  const at = `toolResult.content[${index}]`;
  if (!isRecord(part)) throw invalidOption(at, "a content part", part);
  const { type, text, mediaType, data, filename } = part;
  if (type === "text") return { type, text: textOf(text, `${at}.text`) };
  if (type !== "image" && type !== "file") throw invalidOption(`${at}.type`, '"text", "image" or "file"', type);
  return {
    type,
    mediaType: textOf(mediaType, `${at}.mediaType`),
    data: dataOf(data, part, `${at}.data`),
    ...(filename === undefined ? {} : { filename: textOf(filename, `${at}.filename`) }),
  };
}

function dataOf(data: unknown, part: UnknownRecord, at: string): string {
  const text = data instanceof URL ? data.href : data;
  if (typeof text === "string") return text;
  const advice = edges.advisePart?.(part);
  throw invalidOption(at, `base64 text or a URL${advice === undefined ? "" : ` (${advice})`}`, text);
}

function textOf(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw invalidOption(at, "a string", value);
}

type WithoutCall<Outcome> = Outcome extends unknown ? Omit<Outcome, "call" | "durationMs" | "approvedArgs"> : never;

export type Conclusion<Kind extends ToolOutcome["kind"] = ToolOutcome["kind"]> = WithoutCall<
  Extract<ToolOutcome, { readonly kind: Kind }>
>;

/**
 * Makes the outcome of a call from the awaited return value of the tool. A plain value is a success, and `undefined` becomes
 * null. A value that JSON cannot represent is a failure, and so is a returned Error, which JSON would represent as an empty
 * object. The value of `context.defer()` means that the result comes later.
 */
export function toOutcome(output: unknown): {
  readonly outcome: Conclusion<"completed" | "failed" | "deferred">;
  readonly metadata?: unknown;
} {
  if (hasBrand(output, deferral)) {
    const { fromPage, question } = output as Deferred;
    return { outcome: { kind: "deferred", ...(fromPage && { fromPage }), ...(question && { question }) } };
  }
  if (!isToolResult(output)) return { outcome: output instanceof Error ? toFailure(output) : complete(output) };
  const outcome = output.success ? completeWith(output) : failWith(output);
  return output.metadata === undefined ? { outcome } : { outcome, metadata: output.metadata };
}

export function isOutsideResult(value: unknown): value is OutsideResult {
  if (!isRecord(value)) return false;
  const { kind, result, error } = value;
  if (kind === "failed") return typeof error === "string";
  return kind === "result" && isPlainData(result) && isExact(result);
}

/** True if JSON keeps the whole value, except for undefined fields. The value must have no cycles. */
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
  return isFatalToolError(thrown) ? { kind: "failed", error, fatal: true } : { kind: "failed", error };
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

/** A message without data becomes the data, because the model reads only the data. */
function completeWith(result: ToolResult): Conclusion<"completed" | "failed"> {
  const { data, message, content = [], endTurn } = result;
  if (!Array.isArray(content) || !content.every(isContentPart)) return unwritable('"content" must be an array of content parts');
  // The loop awaits the return value of a tool, but no promise inside a tool result.
  if (isThenable(data)) return unwritable('"data" is a promise, which has to be awaited first');
  const completion = complete(data === undefined ? message : data);
  if (completion.kind === "failed") return completion;
  const kept = limitParts(content);
  const written = complete(kept);
  if (written.kind === "failed") return written;
  return {
    ...completion,
    ...(kept.length === 0 ? {} : { content: kept }),
    ...(endTurn === true ? { endTurn } : {}),
    ...writeSignal(signalOf(result)),
  };
}

function writeSignal({ release, load, restart, handoff }: LoopSignal): LoopSignal {
  return {
    ...(handoff === undefined ? {} : { handoff }),
    ...(release === undefined ? {} : { release }),
    ...(load === undefined ? {} : { load }),
    ...(restart === undefined ? {} : { restart }),
  };
}

/**
 * The maximum number of parts in a tool result. The number is limited, because each part is sent again with every later request.
 */
const mostParts = 1_000;

function limitParts(content: readonly ContentPart[]): readonly ContentPart[] {
  const filled = content.filter((part) => part.type !== "text" || part.text !== "");
  if (filled.length <= mostParts) return filled;
  const left = filled.length - mostParts;
  return [...filled.slice(0, mostParts), { type: "text", text: `(${left} more parts of this result were left out.)` }];
}

/** If the data or the content cannot be written, the problem is added to the reason. */
function failWith({ message, error, data, content }: ToolResult): Conclusion<"failed"> {
  const reason =
    [message, error].find((text: unknown) => typeof text === "string" && text.trim() !== "") ??
    "The tool reported a failure without a reason.";
  const given = completeWith({ success: true, data, content });
  if (given.kind === "failed") return { kind: "failed", error: toolFailure(`${reason} ${given.error.message}`) };
  return {
    kind: "failed",
    error: toolFailure(reason),
    ...(data === undefined ? {} : { data: given.data }),
    ...(given.content === undefined ? {} : { content: given.content }),
  };
}

/** True for a generator. False for arrays, maps and streams, which are iterable but are not generators. */
export function isGenerator(value: unknown): value is Steps {
  try {
    if (!isRecord(value) || typeof value["next"] !== "function" || typeof value["return"] !== "function") return false;
    return Symbol.asyncIterator in value || Symbol.iterator in value;
  } catch {
    return false;
  }
}

/** Makes the preliminary result for listeners. Returns undefined for a value that the tool could not return as a success. */
export function toPreliminary(value: unknown): Json | undefined {
  try {
    const { outcome } = toOutcome(value);
    return value === undefined || outcome.kind !== "completed" ? undefined : outcome.data;
  } catch {
    return undefined;
  }
}

export function lossyKindOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  const isAsync = Symbol.asyncIterator in value;
  const isIterator = isAsync || (Symbol.iterator in value && "next" in value && typeof value.next === "function");
  return isIterator ? `${isAsync ? "an async" : "a"} generator, which has to be read to its end first` : undefined;
}

function unwritable(problem: string): Conclusion<"failed"> {
  return { kind: "failed", error: toolFailure(`The tool's result cannot be written as JSON: ${problem.replace(/\.$/, "")}.`) };
}

export function toolFailure(message: string): PlainError {
  return { name: "ToolFailure", message: tidyMessage(message) };
}

const fatalBrand = Symbol.for("turnwright.FatalToolError");

/**
 * Throw this error in a tool to end the run as `fatal-tool-error`. Use it if the run cannot continue, for example after a licence
 * was revoked. Any other error is a failed result that the model reads.
 *
 * @example throw new FatalToolError("The database is gone.", { cause: error });
 */
export class FatalToolError extends Error {
  override readonly name = "FatalToolError";

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, fatalBrand, { value: true });
  }
}

/** True for a FatalToolError from any copy of the package. */
export function isFatalToolError(value: unknown): value is FatalToolError {
  return hasBrand(value, fatalBrand);
}

/** A request that a tool result makes to the loop. The model does not read this request. */
export interface LoopSignal {
  readonly release?: ContextRelease | undefined;
  readonly load?: readonly string[] | undefined;
  readonly handoff?: Pick<Handoff, "to" | "reason"> | undefined;
  readonly restart?: true | undefined;
}

/** A global symbol, so that a LoopSignal is found in results from every loaded copy of the package. */
const mark: unique symbol = Symbol.for("turnwright.LoopSignal");

type Marked = ToolResult & { readonly [mark]: LoopSignal };

export function markSignal(result: ToolResult, signal: LoopSignal): ToolResult {
  const marked: Marked = Object.assign(result, { [mark]: signal } as const);
  return marked;
}

function signalOf(result: ToolResult): LoopSignal {
  return mark in result ? (result as Marked)[mark] : {};
}
