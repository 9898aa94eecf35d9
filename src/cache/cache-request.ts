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

/** A request to read or search a stored result. Line numbers start at 1. */
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
    id: { type: "string", description: "The id of the stored result." },
    start_line: { type: "integer", minimum: 1, description: "The first line to read or to search. Default 1." },
    end_line: { type: "integer", minimum: 1, description: "For read: the last line. Default: as many lines as fit." },
    lines: { type: "integer", minimum: 1, description: `For head and tail: the number of lines. Default ${fallbackLines}.` },
    pattern: { type: "string", description: "For grep: a regular expression without lookaround and backreferences." },
    ignore_case: { type: "boolean", description: "For grep: treat upper and lower case as equal. Default false." },
  },
  required: ["action", "id"],
} satisfies JsonSchema;

export const cacheRequestSchema: StandardSchema<unknown, CacheRequest> = argumentSchema<CacheRequest>(json, readRequest);

function readRequest(fields: UnknownRecord): StandardResult<CacheRequest> {
  const { action, id } = fields;
  if (typeof id !== "string") return issue("must be a string", "id");
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
  if (!fits) return issue(`must be a string of 1 to ${longestPattern} characters`, "pattern");
  return { value: { action: "grep", ...place, pattern, ignoreCase: ignoreCase === true } };
}

/** True for a missing field. Some models write null for fields that they omit. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function countOf(value: unknown): number | undefined {
  return isWithin(value, count) ? value : undefined;
}
