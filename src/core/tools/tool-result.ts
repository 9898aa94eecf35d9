// The answer of a tool that says more than a value.

import type { ContentPart } from "../types/content.ts";
import type { ToolResult } from "../types/tool.ts";
import { unknownOption } from "../errors/check-fields.ts";
import { LoopError } from "../errors/loop-error.ts";
import { partAdviceOf } from "../errors/other-words.ts";
import { describeValue } from "../utils/describe-value.ts";
import { hasBrand } from "../utils/has-brand.ts";
import { isRecord, type UnknownRecord } from "../utils/is-record.ts";

/** What `toolResult` takes. `success` is true where it is not said, unless there is an `error`. */
export type ToolResultFields = Omit<ToolResult, "success"> & { readonly success?: boolean | undefined };

/** Shared by every copy of the package. */
const brand: unique symbol = Symbol.for("turnwright.ToolResult");

/** What each field must be; a new field without a line here does not compile. */
const fieldTypes: { readonly [Field in keyof ToolResult]-?: "boolean" | "string" | "array" | "anything" } = {
  success: "boolean",
  data: "anything",
  error: "string",
  message: "string",
  endTurn: "boolean",
  content: "array",
  metadata: "anything",
};

/**
 * Makes a tool's answer that may fail without a throw, end the run, carry images and files, or tell listeners more than the
 * model. A plain object of the same fields is not such an answer, but data like any other.
 *
 * Throws LoopError "unknown-option" and "invalid-option" for fields that are not there or of another type.
 *
 * @example return toolResult({ data: { sent: true }, endTurn: true });
 * @example return toolResult({ success: false, message: "The inbox is full." });
 */
export function toolResult(fields: ToolResultFields): ToolResult {
  if (!isRecord(fields)) throw invalid("", "an object", fields);
  for (const [field, value] of Object.entries(fields)) checkField(field, value);
  const { success = fields.error === undefined, content } = fields;
  // The brand is enumerable, so that a copy with one field changed is still a tool's answer.
  const result: ToolResult & { readonly [brand]: true } = Object.assign({ [brand]: true } as const, fields, { success });
  return content === undefined ? result : Object.assign(result, { content: content.map(toContentPart) });
}

/** True for what `toolResult` made, of any copy of the package. */
export function isToolResult(value: unknown): value is ToolResult {
  return hasBrand(value, brand);
}

/** Whether a value is a part that can be kept and sent. */
export function isContentPart(part: unknown): part is ContentPart {
  if (!isRecord(part)) return false;
  const { type, text, mediaType, data } = part;
  if (type === "text") return typeof text === "string";
  return (
    (type === "image" || type === "file") && typeof mediaType === "string" && (typeof data === "string" || data instanceof URL)
  );
}

function checkField(field: string, value: unknown): void {
  if (!isField(field)) {
    throw unknownOption(field, "toolResult", Object.keys(fieldTypes));
  }
  const type = fieldTypes[field];
  if (value === undefined || type === "anything") return;
  const fits = type === "array" ? Array.isArray(value) : typeof value === type;
  if (!fits) throw invalid(`.${field}`, type === "array" ? "an array" : `a ${type}`, value);
}

function isField(name: string): name is keyof ToolResult {
  return Object.hasOwn(fieldTypes, name);
}

/** Copies one part as plain data: a URL object becomes its text. */
function toContentPart(part: unknown, index: number): ContentPart {
  const at = `.content[${index}]`;
  if (!isRecord(part)) throw invalid(at, "a content part", part);
  const { type, text, mediaType, data } = part;
  if (type === "text") return { type, text: textOf(text, `${at}.text`) };
  if (type !== "image" && type !== "file") throw invalid(`${at}.type`, '"text", "image" or "file"', type);
  return {
    type,
    mediaType: textOf(mediaType, `${at}.mediaType`),
    data: dataOf(data, part, `${at}.data`),
  };
}

function dataOf(data: unknown, part: UnknownRecord, at: string): string {
  const text = data instanceof URL ? data.href : data;
  if (typeof text === "string") return text;
  const advice = partAdviceOf(part);
  throw invalid(at, `base64 text or a URL${advice === undefined ? "" : ` (${advice})`}`, text);
}

function textOf(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw invalid(at, "a string", value);
}

function invalid(at: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option: `toolResult${at}`, expected, received: describeValue(received) });
}
