// Plays all agents, and sends the tables, the picture and their figures to the parent process.
import { drawPlot } from "./draw-plot.js";
import { largestOf, toMoneyTable, toTokenTable } from "./tables.js";
import { moneyOf, play } from "./play.js";
import { variants } from "./variants.js";

/**
 * @typedef {{
 *   readonly name: string,
 *   readonly status: string,
 *   readonly code: string | undefined,
 *   readonly requests: number,
 *   readonly largest: number,
 *   readonly compactions: number,
 *   readonly share: number | undefined,
 *   readonly costUSD: number | undefined,
 *   readonly money: import("./play.js").Money,
 * }} Facts
 * @typedef {{ readonly money: string, readonly tokens: string, readonly plot: string, readonly facts: readonly Facts[] }} LongRuns
 */

const all = [];
for (const variant of variants) all.push(await play(variant));

/** @type {LongRuns} */
const measured = {
  money: toMoneyTable(all),
  tokens: toTokenTable(all),
  plot: drawPlot(all.filter(({ variant }) => variant.isDrawn === true)),
  facts: all.map((played) => ({
    name: played.variant.name,
    status: played.status,
    code: played.code,
    requests: played.served.length,
    largest: largestOf(played),
    compactions: played.compactions,
    share: played.share,
    costUSD: played.costUSD,
    money: { plain: moneyOf(played, "plain"), cached: moneyOf(played, "cached"), automatic: moneyOf(played, "automatic") },
  })),
};
process.send?.(measured, () => process.exit(0));
