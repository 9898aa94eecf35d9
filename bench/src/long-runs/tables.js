// Writes the tables of the benchmark.
import { moneyOf, totalOf } from "./play.js";

/** @typedef {import("./play.js").Played} Played */

/** @param {readonly Played[]} all */
export function toMoneyTable(all) {
  const heads = ["Agent", "Ends with", "Largest request", "No cache", "`cache: true`", "Automatic cache"];
  return toTable(
    heads,
    all.map((played) => [
      played.variant.name,
      played.status === "completed" ? "the answer" : `an error in request ${played.served.length + 1}`,
      toThousands(largestOf(played)),
      toDollars(moneyOf(played, "plain")),
      toDollars(moneyOf(played, "cached")),
      toDollars(moneyOf(played, "automatic")),
    ]),
  );
}

/** @param {readonly Played[]} all */
export function toTokenTable(all) {
  const heads = ["Agent", "Requests", "Input", "Read from cache", "Written to cache", "Output", "Compactions", "Kept"];
  return toTable(
    heads,
    all.map((played) => [
      played.variant.name,
      `${played.served.length}`,
      ...["input", "read", "written", "output"].map((name) => toThousands(totalOf(played, /** @type {"input"} */ (name)))),
      `${played.compactions}`,
      `${(100 * (played.share ?? Number.NaN)).toFixed(1)}%`,
    ]),
  );
}

/** @param {Played} played */
export function largestOf({ served, refused }) {
  return Math.max(...served.map(({ input }) => input), ...refused);
}

/** @param {number} tokens */
function toThousands(tokens) {
  return `${Math.round(tokens / 1_000).toLocaleString("en")}k`;
}

/** @param {number} money */
function toDollars(money) {
  return `$${money.toFixed(2)}`;
}

/**
 * @param {readonly string[]} heads
 * @param {readonly (readonly string[])[]} rows
 */
function toTable(heads, rows) {
  const isText = (/** @type {number} */ column) => column === 0 || heads[column] === "Ends with";
  const rule = heads.map((_, column) => (isText(column) ? "---" : "--:"));
  return [`| ${heads.join(" | ")} |`, `|${rule.join("|")}|`, ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}
