// A chat page with `useChat`: streamed text, tool calls, approvals, a sub-agent, and a stop button that works in every tab. The
// page can be reloaded at any time. `npm run web-chat` serves the page on http://localhost:8080. Set PORT to use another port.
//
// If OPENAI_API_KEY or ANTHROPIC_API_KEY is set, a real model answers. Otherwise, a scripted model answers. OPENAI_PRICES and
// ANTHROPIC_PRICES are the prices in USD for a million input and output tokens, such as "1/4". Chats are stored in
// .cache/web-chat. Without `--serve`, the example tests itself.

import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { fileConversationStore, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { pricingFromEnvironment } from "../support/pricing-from-environment.ts";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { bundlePage } from "./bundle-page.ts";
import { createScriptedModel } from "./scripted-model.ts";
import { createShop } from "./tea-shop.ts";
import { createWebChatServer } from "./web-chat-server.ts";

const isServing = process.argv.includes("--serve");
const pace = (signal: AbortSignal): Promise<void> => setTimeout(isServing ? 60 : 0, undefined, { signal });
const own = isServing ? providerFromEnvironment() : undefined;
const provider = own ?? createScriptedModel(pace);
const pricing = pricingFromEnvironment(provider.id);
const orders: object[] = [];
const run = createShop({ provider, pricing, pace }, (order) => orders.push(order));
const host = createRunHost({ store: isServing ? fileConversationStore(".cache/web-chat") : memoryConversationStore() });
const server = createWebChatServer({ host, run, files: await bundlePage() });
server.listen(isServing ? Number(process.env["PORT"] ?? 8080) : 0, "127.0.0.1");
await once(server, "listening");
const url = `http://localhost:${(server.address() as AddressInfo).port}`;

if (isServing) {
  console.log(`${own === undefined ? "A script answers, because no key is set" : `${provider.model} answers`}. Open ${url}`);
  process.once("SIGINT", () => void stop().then(() => process.exit(0)));
} else {
  await check();
  await stop();
  console.log("The page, an order that was approved, and its reload: as expected.");
}

/** Closes the host and the server. Live runs end after their current iteration, and can be resumed when the server runs again. */
async function stop(): Promise<void> {
  await host.close();
  server.closeAllConnections();
  server.close();
}

async function check(): Promise<void> {
  const post = async (messages: readonly object[]): Promise<string> => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}/api/chat`, { method: "POST", headers, body: JSON.stringify({ id: "check", messages }) })).text();
  };
  assert.match(await (await fetch(url)).text(), /<title>Tea shop<\/title>/);
  const question = { id: "q", role: "user", parts: [{ type: "text", text: "Order some tea." }] };
  const first = await post([question]);
  const approvalId = /"approvalId":"([^"]+)"/.exec(first)?.[1];
  const approval = { id: approvalId, approved: true };
  const parts = [{ type: "tool-place_order", state: "approval-responded", approval }];
  const second = await post([question, { id: "check/1", role: "assistant", parts }]);
  assert.match(second, /"delta":"ordered "/);
  assert.doesNotMatch(second, /"delta":"stock. "/);
  assert.deepEqual(orders, [{ tea: "Sencha", bags: 2 }]);
  const { messages } = (await (await fetch(`${url}/api/chat/check`)).json()) as { readonly messages: readonly object[] };
  assert.equal(messages.length, 2);
}
