// The code samples of the page about compaction.

import assert from "node:assert/strict";
import { defineTool, type Message, type Provider, runToolLoop } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { genaiContextWindow, genaiPrices } from "turnwright/prices";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const readLog = defineTool({
  name: "read_log",
  description: "Reads one part of the log",
  inputSchema: z.object({ part: z.number() }),
  execute: ({ part }) => `Part ${part}: ${"no errors. ".repeat(30_000)}`,
});
const tools = [readLog];
const messages: readonly Message[] = [{ role: "user", content: "Find the cause of the outage." }];

/** The model reads nine parts of the log. It writes a summary when it gets a request for one. */
const createModel = () =>
  createMockProvider(
    ({ purpose, iteration }) => {
      if (purpose === "summary")
        return text("The user wants the cause of the outage. The first parts of the log have no errors.");
      return iteration < 9 ? toolCall("read_log", { part: iteration }) : text("A full disk.");
    },
    { id: "anthropic", model: "claude-sonnet-4-5" },
  );

{
  const provider = createModel();
  // #region compact
  const known = genaiContextWindow();
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    pricing: genaiPrices(),
    middleware: [compactMessages({ when: 0.8, keep: 0.1, contextWindow: (id, model) => known(id, model) ?? 200_000 })],
  });
  console.log(result.text, result.messages.length, result.compaction?.summary);
  // #endregion compact
  assert.equal(result.messages.length, 20);
  const last = provider.requests.at(-1)?.messages ?? [];
  assert.ok(last.length < 12);

  // #region next
  const compaction = compactMessages({ contextWindow: genaiContextWindow() }).startWith(result.compaction);
  const next: Message[] = [...result.messages, { role: "user", content: "How large was the disk?" }];
  await runToolLoop({ provider, tools, messages: next, middleware: [compaction] });
  // #endregion next
  assert.match(JSON.stringify(provider.requests.at(-1)?.messages[1]), /Summary of the earlier conversation/);
}

{
  const small: Provider = createMockProvider([text("No errors so far.")], { id: "openai", model: "gpt-5-mini" });
  const provider = createModel();
  // #region summarize
  const compaction = compactMessages({
    when: 120_000, // tokens
    keep: 30_000,
    summarize: { provider: small, maxOutputTokens: 2_000, maxCostUSD: 0.1, instructions: "Keep all file names and times." },
  });
  // #endregion summarize
  await runToolLoop({ provider, tools, messages, middleware: [compaction] });
  const rules: Message = { role: "user", content: "Never restart the database.", pinned: true };
  const result = await runToolLoop({
    provider: createModel(),
    tools,
    messages: [rules, ...messages],
    middleware: [compactMessages()],
  });
  assert.equal(result.compaction, undefined);
}

{
  const provider = createMockProvider((request, index) => {
    if (request.purpose !== undefined) return text("Nothing yet.");
    if (JSON.stringify(request.messages).length > 2_000_000) return fail({ status: 400, message: "prompt is too long" });
    return index < 12 ? toolCall("read_log", { part: index }) : text("A full disk.");
  });
  const result = await runToolLoop({ provider, tools, messages, middleware: [compactMessages()] });
  assert.equal(result.status, "completed");
  assert.ok(result.compaction !== undefined);
}
