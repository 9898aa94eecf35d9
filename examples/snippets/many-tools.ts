// Hundreds of tools: deferred tools, the search for them, and providers that search themselves.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { deferTools, defineTool, type Message, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiResponses } from "turnwright/openai";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { z } from "zod";

const provider = createMockProvider([
  toolCall("find_tools", { query: "create an invoice" }),
  toolCall("stripe_create_invoice", { customer: "c1" }),
  text("The invoice is created."),
]);
const messages: readonly Message[] = [{ role: "user", content: "Send an invoice to c1." }];
// #region deferred
const searchDocs = defineTool({
  name: "search_docs",
  description: "Searches the docs",
  inputSchema: z.object({}),
  execute: () => [],
});
const createInvoice = defineTool({
  name: "stripe_create_invoice",
  description: "Creates an invoice for a customer.",
  inputSchema: z.object({ customer: z.string() }),
  deferred: true, // hidden until it is found or called
  execute: ({ customer }) => ({ invoice: "in_1", customer }),
});

const tools = withToolSearch([searchDocs, createInvoice]);
const result = await runToolLoop({ provider, tools, messages, middleware: [deferTools()] });
// #endregion deferred
assert.equal(result.text, "The invoice is created.");

const sent = provider.requests.map((request) => request.tools.map(({ name }) => name));
// [
//   ["search_docs", "find_tools"],
//   ["search_docs", "find_tools", "stripe_create_invoice"],
//   ["search_docs", "find_tools", "stripe_create_invoice"],
// ]
assert.deepEqual(sent, [
  ["search_docs", "find_tools"],
  ["search_docs", "find_tools", "stripe_create_invoice"],
  ["search_docs", "find_tools", "stripe_create_invoice"],
]);

const anthropicClient = new Anthropic({ apiKey: "test" });
const openaiClient = new OpenAI({ apiKey: "test" });
const registry = [searchDocs, createInvoice];
const searchable = withToolSearch(registry, {
  defer: ({ name }) => name !== "search_docs", // the function decides for each tool; `true` defers all
  maxResults: 5, // the number of tools that one search loads
  maxTokens: 1_500, // the size of find_tools with its list of names
});
assert.deepEqual(
  searchable.definitions().map(({ name, deferred }) => [name, deferred === true]),
  [
    ["search_docs", false],
    ["stripe_create_invoice", true],
    ["find_tools", false],
  ],
);

// #region native
const claude = anthropicMessages({ client: anthropicClient, model: "claude-opus-4-6", toolSearch: "bm25" });
const gpt = openaiResponses({ client: openaiClient, model: "gpt-5.4", toolSearch: true });
// #endregion native
assert.deepEqual([claude.searchesTools, gpt.searchesTools], [true, true]);
