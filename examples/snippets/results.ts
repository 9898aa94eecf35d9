// The code samples of the page about tool results and masking.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import {
  createContextRelease,
  defineTool,
  maskResults,
  type Message,
  processResults,
  runToolLoop,
  truncateResults,
} from "turnwright";
import { directoryStore, createResultCache } from "turnwright/cache";
import type { ResultExtractor } from "turnwright/kit";
import { createMockProvider, type MockProvider, recordEvents, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Which ships call at Bergen?" }];
const rows = Array.from({ length: 4_000 }, (_, index) => `${index + 1};MS Harbour ${index + 1};Bergen`).join("\n");
const listShips = defineTool({
  name: "list_ships",
  description: "All ships of a register",
  inputSchema: z.object({}),
  execute: () => rows,
});
const tools = [listShips];

function readIn(provider: MockProvider, request: number): string {
  const message = provider.requests[request]?.messages.at(-1);
  const result = message?.role === "tool" ? message.results.at(-1)?.result : undefined;
  return typeof result === "string" ? result : JSON.stringify(result);
}

{
  const provider = createMockProvider([toolCall("list_ships"), text("Many.")]);
  // #region truncate
  await runToolLoop({ provider, tools, messages, middleware: [truncateResults({ maxTokens: 2_000 })] });
  // #endregion truncate
  assert.match(readIn(provider, 1), /^1;MS Harbour 1;Bergen\n[^]*\d+ of \d+ bytes left out here[^]*4000;MS Harbour 4000;Bergen$/);
}

{
  const provider = createMockProvider([toolCall("list_ships"), text("Harbour 7.")]);
  const recording = recordEvents();
  const events = recording.emitter;
  const small = createMockProvider([text("7;MS Harbour 7;Bergen")]);
  // #region extract
  const extractor: ResultExtractor = {
    async extract(output, { toolName, userText }) {
      const { text, usage } = await runToolLoop({
        provider: small,
        messages: [{ role: "user", content: `Of this result of ${toolName}, keep what answers "${userText}":\n${output}` }],
      });
      return { text, usage, model: { provider: small.id, model: small.model } };
    },
  };
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    events,
    middleware: [processResults({ extractor })],
  });
  // #endregion extract
  assert.equal(readIn(provider, 1), "7;MS Harbour 7;Bergen");
  assert.equal(recording.of("result-extracted")[0]?.tokensAfter, 6);
  assert.ok(result.usage.totalTokens > 15_000);
}

{
  let id = "";
  const provider = createMockProvider((_, index) => {
    id ||= index === 0 ? "" : (/id "([^"]+)"/.exec(readIn(provider, 1))?.[1] ?? "");
    if (index === 0) return toolCall("list_ships");
    return index === 1 ? toolCall("read_part", { action: "grep", id, pattern: "Harbour 399\\d" }) : text("Ten of them.");
  });
  // #region cache
  const cache = createResultCache();
  const result = await runToolLoop({
    provider,
    tools: [...tools, cache.tool],
    messages,
    middleware: [maskResults(), processResults({ cacher: cache.cacher })],
  });
  // #endregion cache
  assert.match(readIn(provider, 1), /^\[The result of list_ships is stored: about \d+ tokens, 4000 lines\./);
  assert.match(readIn(provider, 2), /^10 matching lines in lines 1 to 4000 of 4000\.\n3990: 3990;MS Harbour 3990;Bergen\n/);
  assert.equal(result.text, "Ten of them.");
}

{
  const readPage = defineTool({ ...listShips, name: "read_page" });
  const provider = createMockProvider([[toolCall("list_ships"), toolCall("read_page")], text("Many.")]);
  const cache = createResultCache();
  const cut = truncateResults({ maxTokens: 2_000 });
  await runToolLoop({
    provider,
    tools: [listShips, readPage, cache.tool],
    messages,
    middleware: [
      maskResults(),
      processResults({
        processor: (toolName, output) => (toolName === "read_page" ? cut.processor(toolName, output) : undefined),
        cacher: cache.cacher, // stores the results of the other tools in full
      }),
    ],
  });
  const message = provider.requests[1]?.messages.at(-1);
  const read = message?.role === "tool" ? message.results.map(({ result }) => JSON.stringify(result)) : [];
  assert.match(read[0] ?? "", /^"\[The result of list_ships is stored: about \d+ tokens, 4000 lines\./);
  assert.match(read[1] ?? "", /bytes left out here/);
}

{
  const directory = await mkdtemp(join(tmpdir(), "ships-"));
  const cache = createResultCache({
    store: directoryStore(directory),
    ttlMs: 24 * 60 * 60 * 1_000,
    maxBytes: 256 * 1_024 * 1_024,
  });
  await cache.cacher.store(rows, { toolName: "list_ships" });
  assert.equal((await readdir(directory)).length, 1);
  await rm(directory, { recursive: true });
}

{
  const turns = [...Array.from({ length: 4 }, () => toolCall("list_ships")), text("Many.")];
  const provider = createMockProvider(turns);
  // #region mask
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    middleware: [maskResults({ keepIterations: 2, minTokens: 500, batchOf: 5 })],
  });
  // #endregion mask
  assert.equal(result.text, "Many.");

  const shown = createMockProvider(turns);
  await runToolLoop({ provider: shown, tools, messages, middleware: [maskResults()] });
  const message = shown.requests[4]?.messages[2];
  assert.match(
    message?.role === "tool" ? JSON.stringify(message.results[0]?.result) : "",
    /^"\[Result of list_ships \(call call_i0_0\) from iteration 0 left out: [\d,]+ tokens\.\]"$/,
  );
}

{
  const provider = createMockProvider([toolCall("list_ships"), toolCall("context_release"), text("Many.")]);
  await runToolLoop({
    provider,
    tools: [listShips, createContextRelease()],
    messages,
    middleware: [maskResults({ keepIterations: Infinity })],
  });
  assert.match(JSON.stringify(provider.requests[2]?.messages[2]), /from iteration 0 left out/);
}

{
  const provider = createMockProvider([toolCall("list_ships"), toolCall("new_topic"), text("Many.")]);
  const stale = new Set<number>();
  const newTopic = defineTool({
    name: "new_topic",
    description: "Says that something else begins",
    inputSchema: z.object({}),
    execute: (_, { iteration }) => {
      for (let old = 0; old < iteration; old += 1) stale.add(old);
      return "noted";
    },
  });
  await runToolLoop({ provider, tools: [listShips, newTopic], messages, middleware: [maskResults({ force: stale })] });
  assert.match(JSON.stringify(provider.requests[2]?.messages[2]), /from iteration 0 left out/);
}
