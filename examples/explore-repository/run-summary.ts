import type { LoopResult, EndReason } from "turnwright";
import { fitLine, type Style, type Terminal } from "./terminal.ts";
import { formatDuration } from "./tool-row.ts";

/**
 * Prints the status, the reason and the usage of a run. Draws a box if the terminal is wide enough. `priceNote` says where the
 * prices come from.
 */
export function printSummary(result: LoopResult, priceNote: string, terminal: Terminal): void {
  const { status, reason, usage, costUSD } = result;
  const cost = costUSD === undefined ? "unknown" : `$${costUSD.toFixed(4)}${priceNote === "" ? "" : ` (${priceNote})`}`;
  const rows: readonly (readonly [label: string, value: string])[] = [
    ["ended", `${status}: ${describeReason(reason)}`],
    ["iterations", String(result.iterations)],
    ["tool calls", String(result.toolCallsExecuted)],
    ["tokens", `${usage.inputTokens.toLocaleString("en")} in, ${usage.outputTokens.toLocaleString("en")} out`],
    ["cost", cost],
    ["time", formatDuration(result.durationMs)],
  ];
  const style: Style = status === "completed" ? "green" : "yellow";
  const lines = terminal.isLive ? drawBox(rows, style, terminal) : rows.map(([label, value]) => `${label.padEnd(10)}  ${value}`);
  terminal.write(`\n${lines.join("\n")}\n`);
}

/** For example "max-iterations, limit 20". */
function describeReason({ kind, ...facts }: EndReason): string {
  const said = Object.entries<unknown>(facts).flatMap(([name, fact]) => {
    if (typeof fact === "string" || typeof fact === "number") return [`${name} ${fact}`];
    if (typeof fact !== "object" || fact === null || !("message" in fact)) return [];
    return ["code" in fact ? `${String(fact.code)}: ${String(fact.message)}` : String(fact.message)];
  });
  return [kind, ...said].join(", ");
}

const labelWidth = 10;

function drawBox(
  rows: readonly (readonly [label: string, value: string])[],
  style: Style,
  terminal: Terminal,
): readonly string[] {
  const longest = Math.max(...rows.map(([, value]) => value.length));
  const valueWidth = Math.max(1, Math.min(longest, terminal.width() - labelWidth - 8));
  const bar = "─".repeat(labelWidth + valueWidth + 4);
  const lines = rows.map(([label, value], index) => {
    const shown = fitLine(value, valueWidth).padEnd(valueWidth);
    return `│ ${terminal.paint("dim", label.padEnd(labelWidth))}  ${index === 0 ? terminal.paint(style, shown) : shown} │`;
  });
  return [`╭${bar}╮`, ...lines, `╰${bar}╯`];
}
