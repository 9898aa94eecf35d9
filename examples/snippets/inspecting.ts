// The code of docs/guides/inspect-a-run.md.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import { defineTool, runToolLoop } from "turnwright";
import { journalToRunLog, readRunLog, renderRunPage, rerunFrom, runLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "turnwright-inspecting-"));
const home = process.cwd();
process.chdir(folder);
const path = "run.jsonl";
const otherPath = "rerun.jsonl";
let sent = 0;
const tools = [
  defineTool({
    name: "send",
    description: "Sends a letter",
    inputSchema: { type: "object" },
    execute: () => `sent ${(sent += 1)}`,
  }),
];
const provider = createMockProvider([toolCall("send"), text("Done.")]);
const other = createMockProvider([text("Done by another model.")]);
const messages = [{ role: "user", content: "Write to Ada." }] as const;
const journalPath = join(folder, "journal.jsonl");
const journal = fileJournal(journalPath);
await runToolLoop({ provider, tools, messages, middleware: [runLog({ to: path })], runId: "r1", journal });

// #region page
const log = { name: "run.jsonl", text: readFileSync("run.jsonl", "utf8") };
writeFileSync("run.html", await renderRunPage(log));
// #endregion page

// #region serve
const app = express();
app.get("/runs/:name", async (_request, response) => {
  const html = await renderRunPage(log);
  const [, policy = ""] = /"Content-Security-Policy"\s+content="([^"]+)"/.exec(html) ?? [];
  response.set({ "Content-Security-Policy": policy, "Cache-Control": "no-store" }).type("html").send(html);
});
// #endregion serve

const fromJournal = { name: "journal.jsonl", text: await journalToRunLog(journalPath) };
const page = await renderRunPage([log, fromJournal]);

// #region rerun
const changed = { provider: other, tools, system: "Be brief.", middleware: [runLog({ to: otherPath })] };
const options = await rerunFrom(path, { iteration: 1 }, changed);
const result = await runToolLoop(options);
// #endregion rerun

assert.ok(page.includes("Write to Ada."));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const served = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/runs/run`);
assert.match(served.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'sha256-/);
assert.ok((await served.text()).includes("Write to Ada."));
server.close();
assert.ok(result.text === "Done by another model." && sent === 1);
assert.ok((await readRunLog(otherPath)).runs[0]?.iterations.length === 2);

process.chdir(home);
rmSync(folder, { recursive: true });
