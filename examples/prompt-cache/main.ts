// An agent reads the files of a project in 40 iterations, and keeps the prompt cache of its service. A second run makes three common
// mistakes, and the events say which requests broke the cache.

import assert from "node:assert/strict";
import {
  defineTool,
  type Middleware,
  type LoopResult,
  maskResults,
  prepareIteration,
  type Pricing,
  runToolLoop,
} from "turnwright";
import { watchPromptCache } from "turnwright/middleware";
import { expectPrefix, recordEvents } from "turnwright/testing";
import { z } from "zod";
import { createCachedModel } from "./cached-model.ts";

const readFile = defineTool({
  name: "read_file",
  description: "Returns the text of a file",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `// ${path}\n${"export const answer = 42;\n".repeat(200)}`,
});
const listFiles = defineTool({
  name: "list_files",
  description: "Returns the names of all files",
  inputSchema: z.object({}),
  execute: () => ["src/index.ts", "src/main.ts"],
});

/** USD per token: 3 per million input tokens, a tenth of that if the input is cached, and 15 per million output tokens. */
const pricing: Pricing = ({ inputTokens, outputTokens, cachedInputTokens = 0 }) =>
  ((inputTokens - cachedInputTokens) * 3 + cachedInputTokens * 0.3 + outputTokens * 15) / 1_000_000;

const iterations = 40;

async function work(...middleware: Middleware[]): Promise<{ readonly result: LoopResult; readonly breaks: readonly string[] }> {
  const recording = recordEvents(undefined, ["cache-break"]);
  const result = await runToolLoop({
    provider: createCachedModel(iterations),
    tools: [readFile, listFiles],
    system: "You explain the code of a project.",
    messages: [{ role: "user", content: "What does the project do?" }],
    pricing,
    events: recording.emitter,
    middleware: [maskResults({ batchOf: 10, minTokens: 200 }), ...middleware, watchPromptCache()],
  });
  assert.equal(result.status, "completed");
  const breaks = recording.of("cache-break").map(({ iteration, cause }) => `${iteration}: ${cause.kind}`);
  return { result, breaks };
}

const careful = await work();
expectPrefix(careful.result, 0.95);
assert.deepEqual(careful.breaks, ["12: messages-masked", "22: messages-masked", "32: messages-masked"]);

// Three mistakes: the system text contains the time, one request hides a tool, and one request uses another model.
const tools = ["read_file", "list_files"];
const careless = await work(
  prepareIteration(({ iteration }) => ({
    system: `You explain the code of a project. It is ${iteration < 5 ? "9:00" : "9:01"}.`,
    tools: iteration === 8 ? tools.slice(0, 1) : tools,
    ...(iteration === 15 ? { provider: createCachedModel(iterations, "a-larger-model") } : {}),
  })),
);
assert.throws(() => expectPrefix(careless.result, 0.95), /- iteration 5: system-changed, \d+ of \d+ bytes lost/);
assert.deepEqual(careless.breaks.slice(0, 5), [
  "5: system-changed",
  "8: tool-removed",
  "9: tool-added",
  "12: messages-masked",
  "15: model-changed",
]);

const shown = ({ cache, costUSD }: LoopResult): string =>
  `${((cache?.share ?? 0) * 100).toFixed(1)}% of the prefix kept, ${cache?.savedUSD?.toFixed(4)} USD saved, ${costUSD?.toFixed(4)} USD paid`;
console.log(`with care:    ${shown(careful.result)}`);
console.log(`without care: ${shown(careless.result)}`);
assert.ok((careful.result.cache?.savedUSD ?? 0) > (careless.result.cache?.savedUSD ?? 0));
assert.ok((careful.result.costUSD ?? 0) < (careless.result.costUSD ?? 0));
