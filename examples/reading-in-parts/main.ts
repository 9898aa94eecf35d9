// A model reads parts of a long tool result, of a log file, and of a resource of an MCP server. Later, it releases what it no
// longer needs.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { defineTool, maskResults, processResults, runToolLoop } from "turnwright";
import { createResultCache, fileSource, type ReadSource } from "turnwright/cache";
import { resourceSource } from "turnwright/mcp";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const listShips = defineTool({
  name: "list_ships",
  description: "All ships of a register",
  inputSchema: z.object({}),
  execute: () => Array.from({ length: 3_000 }, (_, index) => ({ name: `Harbour ${index}`, tons: index * 10 })),
});

const folder = mkdtempSync(join(tmpdir(), "logs-"));
const home = process.cwd();
process.chdir(folder);
const logs = "logs";
mkdirSync(logs);
const lines = Array.from({ length: 20_000 }, (_, index) => `${index % 5_000 === 7 ? "ERROR" : "ok"} ship ${index}`);
writeFileSync(join(logs, "arrivals.log"), lines.join("\n"));
writeFileSync(join(logs, ".env"), "TOKEN=secret");

const server = new McpServer({ name: "docs", version: "1.0.0" });
const rules = Array.from({ length: 2_000 }, (_, index) => `Rule ${index + 1}: be kind to harbour ${index + 1}.`).join("\n");
server.registerResource("rules", "docs://rules", { mimeType: "text/plain" }, () => ({
  contents: [{ uri: "docs://rules", text: rules }],
}));
const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
await server.connect(serverSide);
const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(clientSide);

function readIn(provider: MockProvider, request: number): string {
  const message = provider.requests[request]?.messages.at(-1);
  const result = message?.role === "tool" ? message.results.at(-1)?.result : undefined;
  return typeof result === "string" ? result : JSON.stringify(result);
}

let id = "";
const calls: readonly ((id: string) => object)[] = [
  (stored) => ({ action: "json", id: stored, path: "$[?@.tons > 29900].name" }),
  (stored) => ({ action: "json", id: stored, path: "$[*].name" }),
  (stored) => ({ action: "release", id: stored }),
  () => ({ action: "grep", id: "logs/arrivals.log", pattern: "^ERROR" }),
  () => ({ action: "head", id: "logs/.env" }),
  () => ({ action: "read", id: "docs://rules", start_line: 1_999 }),
];
const provider: MockProvider = createMockProvider((_, index) => {
  if (index === 0) return toolCall("list_ships");
  if (index === 1) id = /with the id "([^"]+)"/.exec(readIn(provider, 1))?.[1] ?? "";
  const args = calls[index - 1]?.(id);
  return args === undefined ? text("Nine heavy ships, four errors.") : toolCall("read_part", { ...args });
});
const messages = [{ role: "user", content: "Which ships are heavy, and what went wrong?" }] as const;

const tools = [listShips];
// #region sources
const cache = createResultCache({
  sources: [
    fileSource("logs", { name: "logs", accepts: (path) => !/(^|\/)\./.test(path) }), // no hidden files
    resourceSource(client, { name: "docs" }), // a connected client of the MCP SDK
  ],
});
const result = await runToolLoop({
  provider,
  tools: [...tools, cache.tool],
  messages,
  middleware: [maskResults({ keepIterations: Infinity }), processResults({ cacher: cache.cacher })],
});
// #endregion sources

assert.equal(result.text, "Nine heavy ships, four errors.");
assert.match(readIn(provider, 2), /^Matches 1 to 9 of 9\.\n\$\[2991\]\.name: "Harbour 2991"\n/);
assert.match(readIn(provider, 3), /^Matches 1 to \d+ of 3000\. The rest did not fit: continue with start_match \d+\./);
assert.match(readIn(provider, 4), /^Released: the results of 2 earlier calls\. The stored result is deleted\.$/);
assert.match(readIn(provider, 5), /^4 matching lines in lines 1 to 20000 of 20000\.\n8: ERROR ship 7\n5008: ERROR ship 5007\n/);
assert.match(readIn(provider, 7), /^Lines 1999 to 2000 of 2000\.\nRule 1999: be kind to harbour 1999\.\n/);
const outcomes = result.functionHistory.map(({ outcome }) => outcome);
assert.deepEqual(outcomes, ["completed", "completed", "completed", "completed", "completed", "failed", "completed"]);

// After the release, the request no longer contains the 3,000 names that the model had read.
const sizes = provider.requests.map((request) => JSON.stringify(request.messages).length);
assert.ok((sizes[4] ?? 0) < (sizes[3] ?? 0) - 4_000);

// #region own
const tickets = new Map([["ticket:17", "The harbour is closed.\nIt opens on Monday."]]);
const ticketSource: ReadSource = {
  name: "tickets",
  description: "tickets, whose ids are ticket: and a number",
  open: async (id) => tickets.get(id), // undefined for ids of other sources
};
// #endregion own
const reading = createMockProvider([toolCall("read_part", { action: "tail", id: "ticket:17", lines: 1 }), text("On Monday.")]);
const { tool } = createResultCache({ sources: [ticketSource] });
await runToolLoop({ provider: reading, tools: [tool], messages, middleware: [maskResults()] });
assert.equal(readIn(reading, 1), "Lines 2 to 2 of 2.\nIt opens on Monday.");

await client.close();
process.chdir(home);
rmSync(folder, { recursive: true });
console.log(`The model read 4 parts of 3 long texts. Its largest request had ${Math.max(...sizes)} characters.`);
