import type { Json, LoopEvents, ToolOutcome } from "turnwright";
import { fitLine, type Style, type Terminal } from "./terminal.ts";

export interface ToolRow {
  readonly name: string;
  readonly args: Json;
  readonly startedAt: number;
  progress?: string;
  /** The event "tool-end" of the call. Undefined while the call runs. */
  end?: LoopEvents["tool-end"];
}

/** The symbols at the start of a row: a bracket for parallel calls, and a spinner for a running call. */
export interface RowMarks {
  readonly bracket: string;
  readonly spinner: string;
}

const endMarks: { readonly [Kind in ToolOutcome["kind"]]: readonly [mark: string, style: Style] } = {
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  "timed-out": ["✗", "red"],
  blocked: ["✗", "red"],
  "unknown-tool": ["✗", "red"],
  "invalid-input": ["✗", "red"],
  malformed: ["✗", "red"],
  truncated: ["✗", "red"],
  denied: ["–", "yellow"],
  "approval-failed": ["–", "yellow"],
  interrupted: ["–", "yellow"],
  "not-run": ["–", "yellow"],
  limit: ["–", "yellow"],
  deferred: ["…", "yellow"],
};

const widestCall = 40;

export function formatRow(row: ToolRow, { bracket, spinner }: RowMarks, terminal: Terminal): string {
  const { name, args, end, startedAt } = row;
  const width = terminal.width() - 1;
  const [mark, style] = end === undefined ? ([spinner, "cyan"] as const) : endMarks[end.outcome];
  const prefix = ` ${bracket} ${mark} `;
  const took = formatDuration(end?.durationMs ?? performance.now() - startedAt);
  const said = end === undefined ? (row.progress ?? "") : summarize(end);
  const isWide = width >= 72;
  const call = fitLine(`${name} ${formatArgs(args)}`, Math.min(widestCall, width - prefix.length - took.length - 2));
  const outcome = fitLine(said, isWide ? width - prefix.length - widestCall - took.length - 5 : 0);
  const right = outcome === "" || !isWide ? took : `${outcome} · ${took}`;
  const named = terminal.paint("bold", call.slice(0, name.length)) + call.slice(name.length);
  const gap = " ".repeat(isWide ? widestCall - call.length + 2 : 2);
  return ` ${terminal.paint("dim", bracket)} ${terminal.paint(style, mark)} ${named}${gap}${terminal.paint("dim", right)}`;
}

/** The tool itself writes the summary of a completed call. For other calls, this is the outcome and the reason. */
function summarize({ outcome, metadata, result }: LoopEvents["tool-end"]): string {
  if (outcome === "completed") return typeof metadata === "string" ? metadata : "";
  const reason = typeof result === "object" && result !== null && "reason" in result ? result.reason : undefined;
  return typeof reason === "string" ? `${outcome}: ${reason}` : outcome;
}

function formatArgs(args: Json): string {
  if (typeof args !== "object" || args === null) return JSON.stringify(args);
  return Object.values(args)
    .map((value) => (typeof value === "string" && /^\S+$/.test(value) ? value : JSON.stringify(value)))
    .join(" ");
}

export function formatDuration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
