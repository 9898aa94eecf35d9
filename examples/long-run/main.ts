// An agent reads 60 logs and opens tickets, with 302 tools. The run is played twice: with and without masking, compaction, tool
// search and reading in parts. `npx tsx examples/long-run/main.ts` needs no key: a script plays the model.

import assert from "node:assert/strict";
import {
  createLoopEvents,
  deferTools,
  defineTool,
  maskResults,
  type ModelRequest,
  processResults,
  runToolLoop,
} from "turnwright";
import { createResultCache } from "turnwright/cache";
import { compactMessages, watchPromptCache, withToolSearch } from "turnwright/middleware";
import { createMockProvider, expectPrefix, type MockMessage, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { catalog } from "../many-tools/catalog.ts";

const days = 60;

const readLog = defineTool({
  name: "read_log",
  description: "Returns the log of one day",
  inputSchema: z.object({ day: z.number() }),
  execute: ({ day }) => {
    const lines = Array.from({ length: day % 20 === 9 ? 2_000 : 80 }, (_, line) => `day ${day}, line ${line}: a ship arrived`);
    return [...lines, `day ${day}: ERROR in harbour ${day}`].join("\n");
  },
});

/** In each iteration, the model reads a log. It searches stored logs for errors, and opens a ticket every 20 days. */
function createModel() {
  let day = 0;
  const opened = new Set<number>();
  return createMockProvider(({ purpose, tools, messages }): MockMessage => {
    if (purpose === "summary") return text(`The logs up to day ${day} are read. Each has one error, in the harbour of its day.`);
    const stored = findStored(messages);
    if (stored !== undefined) return toolCall("read_part", { action: "grep", id: stored, pattern: "ERROR" });
    if (day > 0 && day % 20 === 0 && !opened.has(day)) {
      if (!tools.some(({ name }) => name === "jira_create_ticket"))
        return toolCall("find_tools", { query: "create a jira ticket" });
      opened.add(day);
      return toolCall("jira_create_ticket", { id: `harbours-${day}` });
    }
    if (day === days) return text("60 errors, in 3 tickets.");
    day += 1;
    return toolCall("read_log", { day: day - 1 });
  });
}

/** Returns the id of the last result if that result was stored, so that the model must read it in parts. */
function findStored(messages: ModelRequest["messages"]): string | undefined {
  const last = messages.at(-1);
  const result = last?.role === "tool" ? last.results[0]?.result : undefined;
  return typeof result === "string" ? /^\[The result .* with the id "([^"]+)"/.exec(result)?.[1] : undefined;
}

const messages = [{ role: "user", content: "Find all errors in the logs, and open a ticket every 20 days." }] as const;
const limits = { maxIterations: 100 };
const careless = createModel();
const before = await runToolLoop({ provider: careless, tools: [readLog, ...catalog], messages, limits });

const provider = createModel();
const events = createLoopEvents();
const compactions: number[] = [];
events.on("compaction-end", ({ tokensBefore, tokensAfter }) => compactions.push(tokensBefore - tokensAfter));

// #region run
const cache = createResultCache();
const tools = withToolSearch([readLog, cache.tool, ...catalog], {
  defer: ({ name }) => name !== "read_log" && name !== "read_part", // the tools that each run needs stay visible
});
const result = await runToolLoop({
  provider,
  tools,
  messages,
  limits,
  events,
  middleware: [
    maskResults({ batchOf: 5 }), // clears old results
    compactMessages({ when: 8_000, keep: 2_000 }), // summarizes old messages. Real runs need larger sizes
    deferTools(), // keeps tools out of requests until the model has found them
    watchPromptCache(), // reports what the prompt cache could keep
    processResults({ cacher: cache.cacher }), // stores long results, and the model reads parts of them
  ],
});
// #endregion run

const largest = (requests: readonly ModelRequest[]): number =>
  Math.ceil(Math.max(...requests.map(({ tools: shown, messages: sent }) => JSON.stringify({ shown, sent }).length)) / 4);
const sizes = [largest(careless.requests), largest(provider.requests)] as const;
const sent = [before.usage.inputTokens, result.usage.inputTokens] as const;

console.log(result.text);
console.log(`Tokens sent, estimated: ${sent[1].toLocaleString("en")} instead of ${sent[0].toLocaleString("en")}.`);
console.log(`Largest request: ${sizes[1].toLocaleString("en")} instead of ${sizes[0].toLocaleString("en")} tokens.`);
console.log(
  `Compactions: ${compactions.length}. Kept of the possible prefix: ${(100 * (result.cache?.share ?? 0)).toFixed(1)}%.`,
);

assert.equal(result.text, before.text);
assert.ok(sent[1] < sent[0] / 10);
assert.ok(sizes[1] < sizes[0] / 5);
assert.ok(compactions.length > 0 && compactions.every((freed) => freed > 0));
expectPrefix(result, 0.95);

// All changes of the prefix were intended, except for the tools that a search loaded.
const changes = new Set(result.cache?.breaks.map(({ cause }) => cause.kind));
assert.deepEqual([...changes].sort(), ["messages-compacted", "messages-masked", "tool-added"]);

// Requests left out old results, but the transcript still has every call.
const names = result.functionHistory.map(({ functionCall }) => functionCall.name);
const count = (name: string): number => names.filter((other) => other === name).length;
assert.deepEqual(["read_log", "read_part", "find_tools", "jira_create_ticket"].map(count), [days, 3, 1, 3]);
assert.ok(result.functionHistory.every(({ outcome }) => outcome === "completed"));
