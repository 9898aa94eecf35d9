// The code samples of the page about the prompt cache.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { z } from "zod";
import { createLoopEvents, defineTool, maskResults, type Message, prepareIteration, runToolLoop } from "turnwright";
import { openaiResponses } from "turnwright/openai";
import { watchPromptCache } from "turnwright/middleware";
import { genaiPrices } from "turnwright/prices";
import { createMockProvider, expectPrefix, type MockMessage, text, toolCall, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Which ships call at Bergen?" }];
const readPage = defineTool({
  name: "read_page",
  description: "One page of the register of ships",
  inputSchema: z.object({ page: z.number() }),
  execute: ({ page }) => `Page ${page}: ${"MS Harbour; ".repeat(300)}`,
});
const tools = [readPage];
const tokens = usage({ inputTokens: 1_000, outputTokens: 10, totalTokens: 1_010, cachedInputTokens: 900, cacheWriteTokens: 0 });
const script = (pages: number): readonly MockMessage[] => [
  ...Array.from({ length: pages }, (_, page) => [toolCall("read_page", { page }), tokens]),
  [text("Many."), tokens],
];

{
  const provider = createMockProvider(script(3), { id: "openai", model: "gpt-5-mini" });
  const said: string[] = [];
  const console = { log: (line: string): number => said.push(line) };
  let time = 0;
  const Date = { now: (): number => (time += 60_000) };
  // #region watch
  const events = createLoopEvents();
  events.on("cache-break", ({ iteration, cause, lostBytes }) =>
    console.log(`${iteration}: ${cause.kind}, ${lostBytes} bytes lost`),
  );
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    pricing: genaiPrices(),
    events,
    middleware: [prepareIteration(() => ({ system: `It is ${Date.now()}.` })), watchPromptCache()], // a mistake: the text changes
  });
  console.log(`${result.cache?.share}, saved ${result.cache?.savedUSD} USD`);
  // #endregion watch
  assert.equal(said.length, 4);
  assert.match(said[0] ?? "", /^1: system-changed, \d+ bytes lost$/);
  assert.ok((result.cache?.share ?? 1) < 0.5);
  assert.ok((result.cache?.savedUSD ?? 0) > 0);
}

{
  const provider = createMockProvider(script(20));
  // #region test
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    middleware: [maskResults({ batchOf: 5 }), watchPromptCache()],
  });
  expectPrefix(result, 0.95); // throws if less was kept. The error lists the first requests that broke the cache
  // #endregion test
  assert.equal(result.cache?.share, 1);
  assert.ok(result.cache.breaks.every(({ cause, isIntended }) => cause.kind === "messages-masked" && isIntended));
}

{
  const apiKey = "test";
  const provider = openaiResponses({ client: new OpenAI({ apiKey }), model: "gpt-5", promptCacheKey: "ship-agent" });
  assert.equal(provider.model, "gpt-5");
}
