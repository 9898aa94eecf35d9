// Reads the arguments of a model's request about a cached result.

import {
  argumentSchema,
  describeRule,
  issue,
  isWithin,
  type JsonSchema,
  type NumberRule,
  type StandardResult,
  type StandardSchema,
  type UnknownRecord,
} from "../core/entry-kit.ts";

/** One request about one result. Lines are counted from 1. */
export type CacheRequest = { readonly id: string } & (
  | { readonly action: "read"; readonly startLine: number; readonly endLine: number | undefined }
  | { readonly action: "grep"; readonly pattern: string; readonly ignoreCase: boolean; readonly startLine: number }
  | { readonly action: "head" | "tail"; readonly lines: number }
  | { readonly action: "stats" }
);

const count: NumberRule = { min: 1, infinite: false };
const fallbackLines = 20;
const longestPattern = 1_000;

const json = {
  type: "object",
  properties: {
    action: { type: "string", enum: ["read", "grep", "head", "tail", "stats"] },
    id: { type: "string", description: "The id of the result, as you were told it." },
    start_line: { type: "integer", minimum: 1, description: "First line to read, or to search from. Default 1." },
    end_line: { type: "integer", minimum: 1, description: "Last line to read. Default: as many as fit." },
    lines: { type: "integer", minimum: 1, description: `How many lines head and tail give. Default ${fallbackLines}.` },
    pattern: { type: "string", description: "For grep: a regular expression without look-around and back references." },
    ignore_case: { type: "boolean", description: "For grep. Default false." },
  },
  required: ["action", "id"],
} satisfies JsonSchema;

/** The arguments of the tool `result_cache`. */
export const cacheRequestSchema: StandardSchema<unknown, CacheRequest> = argumentSchema<CacheRequest>(json, readRequest);

function readRequest(fields: UnknownRecord): StandardResult<CacheRequest> {
  const { action, id } = fields;
  if (typeof id !== "string") return issue("must be a text", "id");
  const wrong = ["start_line", "end_line", "lines"].find((name) => !isAbsent(fields[name]) && !isWithin(fields[name], count));
  if (wrong !== undefined) return issue(`must be ${describeRule(count)}`, wrong);
  const startLine = countOf(fields["start_line"]) ?? 1;
  switch (action) {
    case "read":
      return { value: { action, id, startLine, endLine: countOf(fields["end_line"]) } };
    case "grep":
      return readGrep(fields, { id, startLine });
    case "head":
    case "tail":
      return { value: { action, id, lines: countOf(fields["lines"]) ?? fallbackLines } };
    case "stats":
      return { value: { action, id } };
    default:
      return issue("must be one of read, grep, head, tail, stats", "action");
  }
}

function readGrep(
  fields: UnknownRecord,
  place: { readonly id: string; readonly startLine: number },
): StandardResult<CacheRequest> {
  const { pattern, ignore_case: ignoreCase } = fields;
  const fits = typeof pattern === "string" && pattern !== "" && pattern.length <= longestPattern;
  if (!fits) return issue(`must be a text of 1 to ${longestPattern} characters`, "pattern");
  return { value: { action: "grep", ...place, pattern, ignoreCase: ignoreCase === true } };
}

/** Models write null for omitted fields. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function countOf(value: unknown): number | undefined {
  return isWithin(value, count) ? value : undefined;
}
