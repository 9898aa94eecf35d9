import type { ResultPipeline } from "../types/middleware-options.ts";
import type { Middleware } from "../types/middleware.ts";
import { checkEither, checkFields, type Checks } from "../../shared/errors/check-fields.ts";
import { bytesPerToken, countBytes, isPairAt, tokensOfBytes } from "../../shared/estimate-tokens.ts";
import { processResults } from "./process-results.ts";

/** The maximum length of a result, in tokens or in bytes, and the part of the result to keep. */
export interface TruncateResultsOptions {
  /** The maximum number of estimated tokens, including the note about the cut. At least 50. */
  readonly maxTokens?: number | undefined;
  /** The maximum number of UTF-8 bytes, including the note about the cut. At least 200. */
  readonly maxBytes?: number | undefined;
  /** The part to keep: only the beginning, or equal parts from the beginning and the end. Default "head-and-tail". */
  readonly keep?: "head" | "head-and-tail" | undefined;
}

/** The smallest limits that the options accept. They leave room for the note and a little text. */
const minBytes = 200;
const minTokens = minBytes / bytesPerToken;

const checks: Checks<TruncateResultsOptions> = {
  maxTokens: { min: minTokens, infinite: false },
  maxBytes: { min: minBytes, infinite: false },
  keep: ["head", "head-and-tail"],
};

/** The middleware that `truncateResults` returns. */
export interface TruncatedResults extends Middleware {
  /** The function that cuts a result, for use as a stage of `processResults`. */
  readonly processor: NonNullable<ResultPipeline["processor"]>;
}

/**
 * Cuts every result longer than `maxTokens` or `maxBytes`, and inserts a note at the cut. Characters are never split. An object is
 * cut as JSON text, so the cut text is no longer valid JSON. To add other stages, pass the returned `processor` to `processResults`.
 *
 * Throws LoopError "unknown-option" or "invalid-option". Exactly one of `maxTokens` and `maxBytes` is required.
 *
 * @example await runToolLoop({ provider, tools, messages, middleware: [truncateResults({ maxTokens: 4_000 })] });
 */
export function truncateResults(options: TruncateResultsOptions): TruncatedResults {
  checkFields("options", options, checks);
  const { maxTokens, maxBytes, keep = "head-and-tail" } = options;
  checkEither("options", options, ["maxTokens", "maxBytes"]);
  const most = maxBytes ?? (maxTokens ?? 0) * bytesPerToken;
  const processor = (_: string, output: string): string | undefined => truncate(output, most, keep);
  return { ...processResults({ processor }), name: "truncate-results", processor };
}

function truncate(text: string, most: number, keep: "head" | "head-and-tail"): string | undefined {
  const bytes = countBytes(text);
  if (bytes <= most) return undefined;
  const room = most - countBytes(describeGap(bytes, bytes));
  const head = takeHead(text, keep === "head" ? room : Math.ceil(room / 2));
  const tail = keep === "head" ? "" : takeTail(text, Math.floor(room / 2));
  const left = bytes - countBytes(head) - countBytes(tail);
  return head + describeGap(left, bytes) + tail;
}

function describeGap(left: number, bytes: number): string {
  const tokens = tokensOfBytes(left);
  return `\n[... ${left} of ${bytes} bytes left out here, about ${tokens} tokens ...]\n`;
}

function takeHead(text: string, most: number): string {
  let end = 0;
  for (let bytes = 0; end < text.length;) {
    bytes += bytesAt(text, end);
    if (bytes > most) break;
    end += isPairAt(text, end) ? 2 : 1;
  }
  return text.slice(0, end);
}

function takeTail(text: string, most: number): string {
  let start = text.length;
  for (let bytes = 0; start > 0;) {
    const before = start > 1 && isPairAt(text, start - 2) ? start - 2 : start - 1;
    bytes += bytesAt(text, before);
    if (bytes > most) break;
    start = before;
  }
  return text.slice(start);
}

function bytesAt(text: string, index: number): number {
  const code = text.codePointAt(index) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code > 0xffff ? 4 : 3;
}
