import { checkFields, type Checks } from "../../core/kit.ts";
import type { RunNode, RunTree } from "./run-tree.ts";

/** The options for `renderTree`. */
export interface RenderTreeOptions {
  /** The maximum width of a line, in columns. Default 80. */
  readonly width?: number | undefined;
  /** The maximum number of lines. Default: no limit. */
  readonly height?: number | undefined;
}

const checks: Checks<RenderTreeOptions> = { width: { min: 0 }, height: { min: 0 } };

/**
 * Draws a tree of runs: one line for each run, with its state, tools, tokens, cost and time. Names and tasks come from models, so control
 * characters are removed, and long lines are cut.
 *
 * @example
 * console.log(renderTree(tree, { width: process.stdout.columns }));
 */
export function renderTree(tree: RunTree, options: RenderTreeOptions = {}): string {
  checkFields("options", options, checks);
  const { width = 80, height = Number.POSITIVE_INFINITY } = options;
  const lines = tree.runs.flatMap((run) => linesOf(run, { first: "", rest: "" }, tree.now()));
  const isCut = lines.length > height;
  const shown = isCut ? lines.slice(0, Math.max(0, height - 1)) : lines;
  const more = isCut ? [{ left: `… ${lines.length - shown.length} more`, right: "" }] : [];
  return [...shown, ...more].map((line) => fit(line, width)).join("\n");
}

interface Line {
  readonly left: string;
  readonly right: string;
}

function linesOf(run: RunNode, { first, rest }: { first: string; rest: string }, now: number): readonly Line[] {
  const { name, task, nested } = run;
  const label = [markOf(run), name, stateOf(run), task].filter((part) => part !== undefined && part !== "").join(" ");
  const inner = nested.flatMap((child, index) => {
    const isLast = index === nested.length - 1;
    const branch = { first: `${rest}${isLast ? "└─ " : "├─ "}`, rest: `${rest}${isLast ? "   " : "│  "}` };
    return linesOf(child, branch, now);
  });
  return [{ left: first + toLine(label), right: factsOf(run, now) }, ...inner];
}

function markOf({ state }: RunNode): string {
  if (state === "working") return "●";
  return state === "completed" ? "✓" : state === "suspended" ? "‖" : "✗";
}

function stateOf({ state, reason, tools, nested }: RunNode): string {
  if (state === "completed") return "";
  if (state !== "working") return `[${state}: ${reason ?? ""}]`;
  if (tools.length > 0) return `[${tools.join(", ")}]`;
  return nested.some((inner) => inner.state === "working") ? "[waiting]" : "[thinking]";
}

function factsOf({ tokens, costUSD, startedAt, durationMs }: RunNode, now: number): string {
  const cost = costUSD === undefined ? "" : `  $${costUSD.toFixed(4)}`;
  const seconds = Math.max(0, durationMs ?? now - startedAt) / 1_000;
  return `  ${tokens.toLocaleString("en-US")} tokens${cost}  ${seconds.toFixed(1)} s`;
}

/** Shortens the left part of the line, so that the right part stays visible. */
function fit({ left, right }: Line, width: number): string {
  const room = Math.max(0, width - right.length);
  const cut = cutColumns(left, room);
  return cutColumns(cut + " ".repeat(right === "" ? 0 : Math.max(0, room - columnsOf(cut))) + right, width);
}

/** Removes all characters that could move the cursor, reverse the text or combine with other characters. */
export function toLine(text: string): string {
  return text
    .slice(0, 1_000)
    .replace(/\s+/gu, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{M}]/gu, "");
}

/**
 * Counts the columns that text fills. Each East Asian character or emoji counts as two. Some narrow characters also count as two, so lines
 * that contain them are cut too early.
 */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOfOne(character);
  return columns;
}

function columnsOfOne(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  // The tree's lines and marks are one column wide despite their high code points. Other symbols with similar code points may be two
  // columns wide.
  const isNarrow = (code >= 0x2000 && code < 0x2300) || (code >= 0x2500 && code < 0x25f0) || code === 0x2713 || code === 0x2717;
  return code < 0x1100 || isNarrow ? 1 : 2;
}

function cutColumns(text: string, most: number): string {
  if (columnsOf(text) <= most) return text;
  let cut = "";
  let columns = 0;
  for (const character of text) {
    columns += columnsOfOne(character);
    if (columns > most - 1) break;
    cut += character;
  }
  return most === 0 ? "" : `${cut}…`;
}
