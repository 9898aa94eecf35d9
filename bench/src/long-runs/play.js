// Plays one run of the agent with the chosen middleware, and adds up its tokens and its price.
import { createRequire } from "node:module";
import { createLoopEvents, deferTools, dist, defineTool, runToolLoop } from "../turnwright.js";
import { resultTokens } from "./model.js";
import { createService, sum } from "./service.js";
import { definitions, writeLog, writeProse } from "./write-text.js";

/**
 * @typedef {import("./service.js").Served} Served
 * @typedef {import("../../../src/core/index.ts").LoopOptions} LoopOptions
 * @typedef {{
 *   readonly name: string,
 *   readonly isDrawn?: boolean,
 *   readonly model?: string,
 *   readonly window?: number,
 *   readonly tools?: number,
 *   readonly isDeferred?: boolean,
 *   readonly middleware?: LoopOptions["middleware"],
 * }} Variant
 * @typedef {{ readonly plain: number, readonly cached: number, readonly automatic: number }} Money
 * @typedef {{
 *   readonly variant: Variant,
 *   readonly served: readonly (Served & { readonly money: Money })[],
 *   readonly refused: readonly number[],
 *   readonly status: string,
 *   readonly code: string | undefined,
 *   readonly compactions: number,
 *   readonly share: number | undefined,
 *   readonly costUSD: number | undefined,
 * }} Played
 */

// Loads the SDK of the library's own tests. The folder of the benchmarks may have an older version, which another package needs.
const load = createRequire(new URL("../../../package.json", import.meta.url));
/** @type {typeof import("@anthropic-ai/sdk")} */
const { Anthropic } = load("@anthropic-ai/sdk");

/** @type {typeof import("../../../src/anthropic/index.ts")} */
const { anthropicMessages } = await import(new URL("anthropic.js", dist).href);
/** @type {typeof import("../../../src/prices/index.ts")} */
const { genaiPrices } = await import(new URL("prices.js", dist).href);
/** @type {typeof import("../../../src/middleware/index.ts")} */
const { watchPromptCache } = await import(new URL("middleware.js", dist).href);
/** @type {typeof import("../../../src/middleware/index.ts")} */
const { withToolSearch } = await import(new URL("middleware.js", dist).href);

// Both Anthropic models have the same prices.
const usualModel = "claude-opus-4-5";
const usualWindow = 200_000;
const automaticModel = "gpt-5.5";

const date = new Date("2026-11-01");
const pricing = genaiPrices({ date });
const system = `You are an agent that reconciles records. ${writeProse(134, 7)}`;
const task = `Compare all records of the five services, and repair those that differ. ${writeProse(12, 8)}`;

/** @param {number} count */
function makeTools(count) {
  return definitions.slice(0, count).map((definition) =>
    defineTool({
      ...definition,
      execute: (_, { callId }) => {
        const [, index = "0", call = "0"] = callId.split("_");
        // Parallel calls share the size of one result.
        return writeLog(resultTokens(Number(index)) / (Number(index) % 8 === 7 ? 3 : 1), Number(index) * 10 + Number(call));
      },
    }),
  );
}

/**
 * @param {Variant} variant
 * @returns {Promise<Played>}
 */
export async function play(variant) {
  const { model = usualModel, window = usualWindow, tools: count = 40, isDeferred = false, middleware = [] } = variant;
  const service = createService({ window });
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, logLevel: "off", fetch: service.fetch });
  const create = client.messages.create.bind(client.messages);
  // The service takes the body as it is. As JSON, which the SDK writes and the service parses, long bodies would take half of the time.
  // The SDK prints a warning for each request to an older model.
  client.messages.create = /** @type {typeof create} */ (
    (/** @type {Parameters<typeof create>[0]} */ body, /** @type {object} */ options) => {
      service.take(body);
      return create({ ...body, model: automaticModel, system: "", tools: [], messages: [] }, options);
    }
  );
  const tools = makeTools(count);
  const events = createLoopEvents();
  let compactions = 0;
  events.on("compaction-end", ({ outcome }) => {
    if (outcome === "compacted") compactions += 1;
  });
  const result = await runToolLoop({
    provider: anthropicMessages({ client, model, cache: true }),
    tools: isDeferred ? withToolSearch(tools, { defer: true }) : tools,
    system,
    messages: [{ role: "user", content: task }],
    pricing,
    events,
    limits: { maxIterations: 300 },
    middleware: [...middleware, ...(isDeferred ? [deferTools()] : []), watchPromptCache()],
  });
  return {
    variant,
    served: service.served.map((tokens) => ({ ...tokens, money: priceOf(tokens, model) })),
    refused: service.refused,
    status: result.status,
    code: result.reason.kind === "provider-error" ? result.reason.error.code : undefined,
    compactions,
    share: result.cache?.share,
    costUSD: result.costUSD,
  };
}

/**
 * Computes the price of a request: without a cache, with the marks of the adapter, and with an automatic cache.
 *
 * @param {Served} tokens
 * @param {string} model the model for the first two prices
 * @returns {Money}
 */
function priceOf({ input, output, read, written, automatic }, model) {
  const usage = { inputTokens: input, outputTokens: output, totalTokens: input + output };
  const anthropic = { provider: "anthropic", model };
  return {
    plain: pricing(usage, anthropic) ?? Number.NaN,
    cached: pricing({ ...usage, cachedInputTokens: read, cacheWriteTokens: written }, anthropic) ?? Number.NaN,
    automatic: pricing({ ...usage, cachedInputTokens: automatic }, { provider: "openai", model: automaticModel }) ?? Number.NaN,
  };
}

/**
 * @param {Played} played
 * @param {"input" | "read" | "written" | "output"} name
 */
export function totalOf({ served }, name) {
  return sum(served.map((tokens) => tokens[name]));
}

/**
 * @param {Played} played
 * @param {keyof Money} name
 */
export function moneyOf({ served }, name) {
  return sum(served.map(({ money }) => money[name]));
}
