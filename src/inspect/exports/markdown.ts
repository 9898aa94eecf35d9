import { checkFields, type Checks, is } from "../../core/entry-kit.ts";
import type { LoggedRun } from "../log/run-log.ts";
import { writeRun } from "./write-run.ts";

/** The options of `toMarkdown`. */
export interface MarkdownOptions {
  /** False to leave the system text out. Otherwise it is folded. Default true. */
  readonly system?: boolean | undefined;
  /** False to leave the reasoning of the model out. Otherwise it is folded. Default true. */
  readonly reasoning?: boolean | undefined;
  /** The maximum number of characters of each text, argument and result. A whole number of at least 1, or `Infinity`. Default 4,000. */
  readonly maxChars?: number | undefined;
}

const isCount = (value: unknown): boolean =>
  typeof value === "number" && value >= 1 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY);

const checks: Checks<MarkdownOptions> = {
  system: is.flag,
  reasoning: is.flag,
  maxChars: ["a whole number of at least 1, or Infinity", isCount],
};

/**
 * Returns a transcript of a run as Markdown, for people: status, reason, time, tokens and cost, then each iteration with its
 * messages, text, calls, results, waits and errors. Nested runs are quoted below their calls.
 *
 * All texts of users, models and tools are in code, in fenced blocks that the texts cannot end. So a viewer shows their Markdown,
 * HTML and links as plain characters, also if it allows HTML. Control characters are shown as code points. The only HTML is
 * `<details>` around the system text and reasoning.
 *
 * Throws LoopError "invalid-option" or "unknown-option" for `options`.
 *
 * @example
 * const { runs } = await readRunLog("run.jsonl");
 * await writeFile("run.md", runs.map((run) => toMarkdown(run)).join("\n"));
 */
export function toMarkdown(run: LoggedRun, options: MarkdownOptions = {}): string {
  checkFields("options", options, checks);
  const { system = true, reasoning = true, maxChars = 4000 } = options;
  return `${writeRun(run, { system, reasoning, maxChars, hasDates: run.startedAt > 0 })}\n`;
}
