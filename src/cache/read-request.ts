import { argumentSchema } from "../shared/own-schema.ts";
import { describeRule, isWithin, type NumberRule } from "../shared/errors/check-fields.ts";
import { issue } from "../shared/argument-schema.ts";
import type { JsonSchema, StandardSchema } from "../core/index.ts";
import type { StandardResult } from "../core/types/common.ts";
import type { UnknownRecord } from "../shared/guards.ts";

/** The arguments of the `read_part` tool. Lines and matches are counted from 1. */
export type ReadRequest = { readonly id: string } & (
  | { readonly action: "read"; readonly startLine: number; readonly endLine: number | undefined }
  | { readonly action: "grep"; readonly pattern: string; readonly ignoreCase: boolean; readonly startLine: number }
  | { readonly action: "head" | "tail"; readonly lines: number }
  | { readonly action: "json"; readonly path: string; readonly startMatch: number }
  | { readonly action: "stats" }
  | { readonly action: "release" }
);

const count: NumberRule = { min: 1, infinite: false };
const fallbackLines = 20;
const maxPatternLength = 1_000;
const maxPathLength = 500;
const actions = ["read", "grep", "head", "tail", "json", "stats", "release"] as const;
const counts = ["start_line", "end_line", "lines", "start_match"] as const;

const json = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: actions,
      description:
        "read: lines. grep: search. head, tail: the first or last lines. json: select from JSON text. stats: the size. release: remove all that you have read of this text from your context. A stored result is also deleted.",
    },
    id: { type: "string", description: "The id of the text." },
    start_line: { type: "integer", minimum: 1, description: "The first line to read or to search. Default 1." },
    end_line: { type: "integer", minimum: 1, description: "For read: the last line. Default: as many lines as fit." },
    lines: { type: "integer", minimum: 1, description: `For head and tail: the number of lines. Default ${fallbackLines}.` },
    pattern: { type: "string", description: "For grep: a regular expression without lookaround or backreferences." },
    ignore_case: { type: "boolean", description: "For grep: ignore case. Default false." },
    path: { type: "string", description: "For json: a JSONPath (RFC 9535), for example $.items[?@.price > 10].name" },
    start_match: { type: "integer", minimum: 1, description: "For json: the first match to show. Default 1." },
  },
  required: ["action", "id"],
} satisfies JsonSchema;

export const readRequestSchema: StandardSchema<unknown, ReadRequest> = argumentSchema<ReadRequest>(json, readRequest);

function readRequest(fields: UnknownRecord): StandardResult<ReadRequest> {
  const { action, id } = fields;
  if (typeof id !== "string") return issue("must be a string", "id");
  const wrong = counts.find((name) => !isAbsent(fields[name]) && !isWithin(fields[name], count));
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
    case "json":
      return readJson(fields, id);
    case "stats":
      return { value: { action, id } };
    case "release":
      return { value: { action, id } };
    default:
      return issue(`must be one of ${actions.join(", ")}`, "action");
  }
}

function readGrep(
  fields: UnknownRecord,
  place: { readonly id: string; readonly startLine: number },
): StandardResult<ReadRequest> {
  const { pattern, ignore_case: ignoreCase } = fields;
  if (!isTextWithin(pattern, maxPatternLength))
    return issue(`must be a string of 1 to ${maxPatternLength} characters`, "pattern");
  return { value: { action: "grep", ...place, pattern, ignoreCase: ignoreCase === true } };
}

function readJson({ path, start_match: startMatch }: UnknownRecord, id: string): StandardResult<ReadRequest> {
  if (!isTextWithin(path, maxPathLength)) return issue(`must be a string of 1 to ${maxPathLength} characters`, "path");
  return { value: { action: "json", id, path, startMatch: countOf(startMatch) ?? 1 } };
}

function isTextWithin(value: unknown, longest: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= longest;
}

/** True for a missing field. Some models write null instead of omitting a field. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function countOf(value: unknown): number | undefined {
  return isWithin(value, count) ? value : undefined;
}

/** A source of text that the `read_part` tool can read. To create one, use `fileSource` or `resourceSource`. */
export interface ReadSource {
  /**
   * The name of the source: 1 to 64 letters, digits, ".", "_" or "-". By convention, the name is also an id, and reading it returns a list
   * of what the source contains.
   */
  readonly name: string;
  /** Tells the model what the source contains and under which ids. Becomes part of the tool's description. */
  readonly description: string;
  /**
   * Opens the text with this id. Returns undefined if the id belongs to a different source. The id comes from the model and may be
   * anything. If `open` throws, the model reads the error message.
   */
  open(id: string, signal: AbortSignal): SourceText | undefined | PromiseLike<SourceText | undefined>;
}

/** Text from a source: a string, or large text that is read in ranges. */
export type SourceText = string | RangedText;

/** Large text in UTF-8. Only the ranges that are needed are read. */
export interface RangedText {
  /** The size in bytes. */
  readonly bytes: number;
  /** The version of the text. Must change whenever the text changes, because the cache keeps the positions of lines for each version. */
  readonly version: string;
  /** Reads `length` bytes starting at `offset`, or fewer at the end of the text. */
  read(offset: number, length: number): PromiseLike<Uint8Array>;
  /** Releases the text. Called once, after the last `read`. */
  close(): void | PromiseLike<void>;
}
