import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Provider } from "turnwright";
import { createMockProvider, type MockProvider, stall, text } from "turnwright/testing";
import { script } from "../src/script.ts";
import { createChatServer } from "../src/server.ts";

async function serve(provider: Provider): Promise<string> {
  const server = await createChatServer(provider);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const user = { id: "m1", role: "user", parts: [{ type: "text", text: "Two bags of green tea, please." }] };

/** Sends messages as `useChat` does. */
function send(url: string, messages: readonly object[], signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ id: "chat", trigger: "submit-message", messages });
  const headers = { "content-type": "application/json" };
  return fetch(`${url}/api/chat`, { method: "POST", headers, body, ...(signal && { signal }) });
}

await test("the server serves the page and its program", async () => {
  const url = await serve(script);
  assert.match(await (await fetch(url)).text(), /<main id="root">/);
  assert.match(await (await fetch(`${url}/page.js`)).text(), /createRoot|Tea shop/);
});

for (const [approved, answer] of [
  [true, /Two bags/],
  [false, /order nothing/],
] as const) {
  await test(`an order waits for the user, who answers ${approved}`, async () => {
    const url = await serve(script);
    const first = await (await send(url, [user])).text();
    assert.match(first, /"toolName":"find_price"/);
    const [, approvalId = "", toolCallId = ""] =
      /"type":"tool-approval-request","approvalId":"([^"]+)","toolCallId":"([^"]+)"/.exec(first) ?? [];
    const [, messageId = ""] = /"messageId":"([^"]+)"/.exec(first) ?? [];
    const approval = { id: approvalId, approved };
    const parts = [{ type: "tool-place_order", toolCallId, state: "approval-responded", input: {}, approval }];
    const decided = [user, { id: messageId, role: "assistant", parts }];
    const second = await (await send(url, decided)).text();
    const said = Array.from(second.matchAll(/"delta":"([^"]*)"/g), ([, delta]) => delta).join("");
    assert.match(said, answer);
  });
}

await test("a page that disconnects stops the run", async () => {
  const provider: MockProvider = createMockProvider([[text("Once upon a time"), stall()]]);
  const url = await serve(provider);
  const page = new AbortController();
  const response = await send(url, [user], page.signal);
  await response.body?.getReader().read();
  page.abort();
  while (provider.active > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

await test("a request without a message is refused", async () => {
  const url = await serve(script);
  const response = await fetch(`${url}/api/chat`, { method: "POST", body: "{", headers: { "content-type": "application/json" } });
  assert.equal(response.status, 400);
});

await test("a decision about another call is refused, and the server continues", async () => {
  const url = await serve(script);
  const first = await (await send(url, [user])).text();
  const [, messageId = ""] = /"messageId":"([^"]+)"/.exec(first) ?? [];
  const approval = { id: `${messageId}:other`, approved: true };
  const parts = [{ type: "tool-place_order", toolCallId: "other", state: "approval-responded", input: {}, approval }];
  await (await send(url, [user, { id: messageId, role: "assistant", parts }])).text().catch(() => {});
  assert.equal((await fetch(url)).status, 200);
});
