// Reads untrusted values: fields of unknown type, and thrown values, which become JSON data without credentials.

import type { Json, PlainError, Usage } from "../core/types/common.ts";
import { toCounts } from "./count-usage.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { edges } from "./edges.ts";

/** Returns the value if it is a string, otherwise "". */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the value if it is a non-empty string, otherwise undefined. */
export function filledOrNone(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the value if it is an array, otherwise an empty array. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : nothing;
}

const nothing: readonly unknown[] = [];

/** Returns the value if it is an object, otherwise an object without fields. */
export function recordOf(value: unknown): UnknownRecord {
  return isRecord(value) ? value : {};
}

/** Ignores the error for a file that does not exist, and throws any other error. For use with `catch`. */
export function unlessMissing(error: unknown): undefined {
  if (recordOf(error).code === "ENOENT") return undefined;
  throw error;
}

/** Reads a token count, which must be a number from 0 to 2^53-1. Returns undefined for any other value. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

/**
 * Reads a `Usage` from an untrusted object. An invalid required count becomes 0, and an invalid optional count becomes undefined. The
 * total is at least the sum of input and output, because limits rely on it.
 */
export function readUsage(fields: UnknownRecord): Usage {
  const usage: { readonly [Name in keyof Usage]?: Usage[Name] | undefined } = toCounts((name) => countOf(fields[name]));
  const [inputTokens, outputTokens] = [usage.inputTokens ?? 0, usage.outputTokens ?? 0];
  const totalTokens = Math.max(usage.totalTokens ?? 0, inputTokens + outputTokens);
  return { ...usage, inputTokens, outputTokens, totalTokens };
}

/** Copies JSON fields into a mutable object. A key "__proto__" is copied like any other key. */
export function copyFields(fields: UnknownRecord): { [field: string]: Json } {
  const copy: { [field: string]: Json } = JSON.parse(JSON.stringify(fields));
  return copy;
}

export function toUsage(value: unknown): Usage {
  if (!isRecord(value)) throw new TypeError('The field "usage" of a "usage" chunk must be an object.');
  return readUsage(value);
}

const maxMessageLength = 2_000;
const deepestCause = 3;

/**
 * Converts any thrown value to plain data. Never throws. Keeps the name, the message, a string `code`, and up to three nested causes. The
 * first error of an AggregateError becomes its cause. Drops the stack and all other fields. Cuts messages to 2,000 characters, and removes
 * credentials. If the thrown value has no message, the value itself is converted to text and used as the message.
 *
 * @example toPlainError(new Error("no", { cause: "later" })); // { name: "Error", message: "no", cause: { name: "Error", message: "later" } }
 */
export function toPlainError(thrown: unknown): PlainError {
  return toPlain(thrown, 0);
}

function toPlain(thrown: unknown, depth: number): PlainError {
  const { name, message, code, cause } = factsOf(thrown);
  return {
    name,
    message: tidyMessage(message),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined || cause === null || depth >= deepestCause ? {} : { cause: toPlain(cause, depth + 1) }),
  };
}

export function tidyMessage(message: string): string {
  return edges.redactText(message, maxMessageLength, "");
}

interface Facts {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

function factsOf(thrown: unknown): Facts {
  try {
    if (!isRecord(thrown)) return { name: "Error", message: String(thrown) };
    const { name, message, code, cause, errors } = thrown;
    return {
      name: typeof name === "string" ? tidyMessage(name) : "Error",
      message: typeof message === "string" ? message : (JSON.stringify(thrown) ?? "unknown"),
      code: typeof code === "string" ? tidyMessage(code) : undefined,
      cause: cause ?? (Array.isArray(errors) ? errors[0] : undefined),
    };
  } catch {
    return { name: "Error", message: "The error cannot be read." };
  }
}
