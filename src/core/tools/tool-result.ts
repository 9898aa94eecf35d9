// Creates the special results that tools can return, and the special errors that they can throw.

import type { ContentPart } from "../types/common.ts";
import type { Deferred, ToolResult } from "../types/tool.ts";
import { type Check, checkFields, type Checks, is, table } from "../../shared/errors/check-fields.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";
import { edges } from "../../shared/edges.ts";
import { hasBrand, isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { createDeferred, fatalBrand, type LoopSignal, mark, resultBrand } from "../../shared/to-outcome.ts";

/** The fields of `toolResult`. `success` defaults to true, or to false if there is an `error`. */
export type ToolResultFields = Omit<ToolResult, "success"> & { readonly success?: boolean | undefined };

const flag: Check = ["a boolean", (value) => typeof value === "boolean"];

const resultChecks: Checks<ToolResult> = /* @__PURE__ */ table(() => ({
  success: flag,
  data: is.any,
  error: is.text,
  message: is.text,
  endTurn: flag,
  content: ["an array", Array.isArray],
  metadata: is.any,
}));

/**
 * Creates a tool result with more than just data. The result can report a failure without an exception, end the run, contain images and
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
  const result: ToolResult & { readonly [resultBrand]: true } = Object.assign({ [resultBrand]: true } as const, fields, {
    success,
  });
  return content === undefined ? result : Object.assign(result, { content: content.map(toContentPart) });
}

/**
 * Return this from `execute` if the call's result comes later, for example from a webhook or a person. The call then waits, and the run is
 * suspended when nothing else can continue. The call fails if the tool is `eager`, or if an ordinary tool started the run. With `fromPage:
 * true`, a web page may send the result. Default false.
 *
 * Throws LoopError "unknown-option" or "invalid-option" for invalid options.
 *
 * @example return defer();
 */
export function defer(options: { readonly fromPage?: boolean | undefined } = {}): Deferred {
  checkFields("defer", options, { fromPage: is.flag });
  return Object.assign(createDeferred(options.fromPage === true), { toJSON: refuseNested });
}

function refuseNested(): never {
  throw new TypeError("it contains the value of defer(), which the tool must return alone");
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
  throw invalidOption(at, `a base64 string or a URL${advice === undefined ? "" : ` (${advice})`}`, text);
}

function textOf(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw invalidOption(at, "a string", value);
}

/**
 * Throw this error in a tool to end the run as `fatal-tool-error`. Use it if the run cannot continue, for example after a license
 * was revoked. Any other error becomes a failed result that the model reads.
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

export function markSignal(result: ToolResult, signal: LoopSignal): ToolResult {
  return Object.assign(result, { [mark]: signal });
}
