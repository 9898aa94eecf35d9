/**
 * @typedef {"us" | "ms" | "x" | "MB" | "KB" | "B" | ""} Unit
 * @typedef {{
 *   workload: string,
 *   unit: Unit,
 *   minimal?: number | undefined,
 *   turnwright: number,
 *   ratio?: number | undefined,
 *   target?: { of: "ratio" | "turnwright", atMost: number } | undefined,
 * }} Row
 */

/** @param {Row} row */
export function missesTarget({ target, ratio, turnwright }) {
  if (target === undefined) return false;
  const value = target.of === "ratio" ? ratio : turnwright;
  // `!(a <= b)` differs from `a > b` for NaN: a result that is NaN must also miss the target.
  return !(value !== undefined && value <= target.atMost);
}

/**
 * @param {readonly Row[]} rows
 * @param {string} [reference] the name of the column with the figures in `minimal`
 */
export function toTable(rows, reference = "minimal loop") {
  const heads = ["workload", reference, "turnwright", "ratio", "target", ""];
  const lines = [heads, ...rows.map(toCells)];
  const widths = heads.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const [head = [], ...body] = lines.map((line) => line.map((cell, column) => pad(cell, widths[column] ?? 0, column)));
  return [head, rule, ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** @param {Row} row */
function toCells(row) {
  const { workload, unit, minimal, turnwright, ratio, target } = row;
  return [
    workload,
    minimal === undefined ? "" : toQuantity(minimal, unit),
    toQuantity(turnwright, unit),
    ratio === undefined ? "" : toQuantity(ratio, "x"),
    target === undefined ? "" : toQuantity(target.atMost, target.of === "ratio" ? "x" : unit),
    target === undefined ? "" : missesTarget(row) ? "over" : "ok",
  ];
}

/**
 * @param {number} value
 * @param {Unit} unit
 */
function toQuantity(value, unit) {
  if (value === Number.POSITIVE_INFINITY) return "never";
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const figure = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === "x" ? `${figure}x` : `${figure} ${unit}`.trim();
}

/**
 * @param {string} cell
 * @param {number} width
 * @param {number} column
 */
function pad(cell, width, column) {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
