// The agents that the benchmark compares. All of them do the same work.
import { dist } from "../turnwright.js";

/** @typedef {import("./play.js").Variant} Variant */

/** @type {typeof import("../../../src/core/index.ts")} */
const { maskResults } = await import(new URL("index.js", dist).href);
/** @type {typeof import("../../../src/middleware/index.ts")} */
const { compactMessages } = await import(new URL("middleware.js", dist).href);
/** @type {typeof import("../../../src/prices/index.ts")} */
const { genaiContextWindow } = await import(new URL("prices.js", dist).href);

const masking = maskResults({ batchOf: 5 });
const early = compactMessages({ when: 60_000, keep: 10_000 });

/** @type {readonly Variant[]} */
export const variants = [
  { name: "nothing", isDrawn: true },
  { name: "nothing, window of 1,000,000", isDrawn: true, model: "claude-opus-5", window: 1_000_000 },
  { name: "masking, `batchOf: 1`", middleware: [maskResults()] },
  { name: "masking, `batchOf: 5`", isDrawn: true, middleware: [masking] },
  { name: "masking, `batchOf: 10`", middleware: [maskResults({ batchOf: 10 })] },
  {
    name: "compaction at 160,000",
    isDrawn: true,
    middleware: [compactMessages({ contextWindow: genaiContextWindow() })],
  },
  { name: "compaction at 60,000", middleware: [early] },
  { name: "both: `batchOf: 5`, 60,000", isDrawn: true, middleware: [masking, early] },
  { name: "masking, 40 deferred tools", isDeferred: true, middleware: [masking] },
  { name: "masking, 300 tools", tools: 300, middleware: [masking] },
  { name: "masking, 300 deferred tools", tools: 300, isDeferred: true, middleware: [masking] },
];
