// The recipes of skills/turnwright/SKILL.md. Each file is a whole module that you can paste. This program checks all of them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, runToolLoop } from "turnwright";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { refundOrder } from "./approval.ts";
import { ask } from "./follow-up.ts";
import { runWithinLimits } from "./limits.ts";
import { openingHours } from "./own-middleware.ts";
import { answerPage } from "./page-route.ts";
import { describeEnding } from "./read-result.ts";
import { toTicket } from "./typed-answer.ts";

const measure = defineTool({ name: "measure", description: "Measures", inputSchema: { type: "object" }, execute: () => 7 });
const messages = [{ role: "user" as const, content: "How warm is it?" }];
const folder = mkdtempSync(join(tmpdir(), "recipes-"));

const answered = await runToolLoop({ provider: createMockProvider([text("7 degrees.")]), messages });
assert.equal(describeEnding(answered), "7 degrees.");
const failed = await runToolLoop({ provider: createMockProvider([fail({ status: 401, message: "Wrong key." })]), messages });
assert.match(describeEnding(failed), /^Ended by provider-error: .*Wrong key/);

const model = createMockProvider([toolCall("measure"), text("7 degrees."), text("In Oslo.")]);
assert.equal(await ask(model, [measure], "How warm is it?"), "7 degrees.");
assert.equal(await ask(model, [measure], "Where?"), "In Oslo.");
assert.equal(model.requests.at(-1)?.messages.length, 5);

const cheap = createMockProvider([toolCall("measure"), text("7 degrees.")], { id: "openai", model: "gpt-5-mini" });
assert.equal((await runWithinLimits(cheap, [measure], "How warm is it?")).text, "7 degrees.");

const file = join(folder, "refund.jsonl");
const createModel = () =>
  createMockProvider((request) =>
    request.messages.length === 1 ? toolCall("refund", { orderId: "A-1042", amount: 80 }) : text("Refunded."),
  );
const suspended = await refundOrder(createModel(), file);
assert.match(describeEnding(suspended), /^Waits for /);
const [waiting] = suspended.pendingCalls;
const approved = { [waiting?.id ?? ""]: { kind: "approve" as const } };
assert.equal((await refundOrder(createModel(), file, approved)).text, "Refunded.");

const post = (body: string): Request =>
  new Request("http://localhost/api/chat", { method: "POST", body, headers: { "content-type": "application/json" } });
const user = { id: "u", role: "user", parts: [{ type: "text", text: "Hello." }] };
const page = await answerPage(post(JSON.stringify({ id: "chat", messages: [user] })), createMockProvider([text("Hi.")]));
assert.match(await page.text(), /"delta":"Hi\."/);
assert.equal((await answerPage(post("{"), createMockProvider([]))).status, 400);

const ticket = { title: "The shop is down", urgency: "high" };
assert.deepEqual(await toTicket(createMockProvider([text(JSON.stringify(ticket))]), "Help!"), ticket);

const closed = await runToolLoop({
  provider: createMockProvider([toolCall("measure"), text("It is closed.")]),
  tools: [measure],
  middleware: [openingHours(() => false)],
  messages,
});
assert.equal(closed.calls[0]?.outcome, "denied");
await import("./resumed-test.ts");
rmSync(folder, { recursive: true });
