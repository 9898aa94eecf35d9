// The support agent, written with turnwright.
import { dist } from "../turnwright.js";
import { beginTrial, note, price } from "./script.js";

const { defineTool, runToolLoop } = /** @type {typeof import("../../../src/core/index.ts")} */ (
  await import(new URL("index.js", dist).href)
);
const evals = /** @type {typeof import("../../../src/evals/index.ts")} */ (await import(new URL("evals.js", dist).href));

export { evals, runToolLoop };

/**
 * @param {string} text
 * @param {import("./script.js").Shop} shop
 */
export function supportAgent(text, shop) {
  const refund = defineTool({
    name: "refund",
    description: "Pays the money for an order back",
    inputSchema: { type: "object", properties: { order: { type: "number" } } },
    execute: (args) => {
      shop.paid.push(/** @type {{ order: number }} */ (args).order);
      return "paid";
    },
  });
  return {
    provider: createModel(beginTrial(text)),
    messages: [{ role: /** @type {const} */ ("user"), content: text }],
    tools: [refund],
    pricing: () => price,
  };
}

/** @param {ReturnType<typeof beginTrial>} script @returns {import("../../../src/core/index.ts").Provider} */
function createModel(script) {
  return {
    id: "script",
    model: "script",
    async *stream({ messages }, { signal }) {
      const noteAbort = () => note("abort");
      signal.addEventListener("abort", noteAbort);
      const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
      const { text, refund } = await script(results.length);
      signal.removeEventListener("abort", noteAbort);
      if (text !== undefined) yield { type: "text-delta", text };
      if (refund !== undefined)
        yield { type: "call-ready", key: "0", id: `call-${results.length}`, name: "refund", args: { order: refund } };
      yield { type: "usage", usage: { inputTokens: 90, outputTokens: 10, totalTokens: 100 }, mode: "snapshot" };
      yield { type: "finish", reason: refund === undefined ? "stop" : "tool-calls" };
    },
  };
}
