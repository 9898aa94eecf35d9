import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provider } from "turnwright";
import { memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, fail, stall, text } from "turnwright/testing";
import { createBot } from "../src/bot.ts";
import { script } from "../src/script.ts";
import { tools } from "../src/tools.ts";

function start(provider: Provider, store = memoryConversationStore()) {
  const replies: string[] = [];
  const reply = async (room: string, said: string): Promise<void> => void replies.push(`${room}: ${said}`);
  return { replies, store, bot: createBot({ provider, tools, store, reply }) };
}

await test("the bot answers each room", async () => {
  const { bot, replies } = start(script);
  await Promise.all([bot.hear("a", "Roll."), bot.hear("b", "Roll.")]);
  assert.deepEqual(replies.map((said) => said.replaceAll(/\d/g, "n")).sort(), ["a: You rolled [n,n].", "b: You rolled [n,n]."]);
});

await test("a second message interrupts the model, which answers both", async () => {
  const provider = createMockProvider((_request, index) => {
    if (index > 0) return text("Oslo 7, Bergen 9.");
    setTimeout(() => void bot.hear("a", "And in Bergen?"), 5);
    return [text("In Oslo it"), stall()];
  });
  const { bot, replies } = start(provider);
  await bot.hear("a", "How warm is it in Oslo?");
  assert.deepEqual(replies, ["a: Oslo 7, Bergen 9."]);
  assert.deepEqual(
    provider.requests[1]?.messages.map(({ role }) => role),
    ["user", "user"],
  );
});

await test("a bot that starts again remembers its rooms", async () => {
  const { bot, store } = start(createMockProvider([text("Hello.")]));
  await bot.hear("a", "Hi.");
  const next = createMockProvider([text("You said hi.")]);
  await start(next, store).bot.hear("a", "What did I say?");
  assert.equal(next.requests[0]?.messages.length, 3);
});

await test("users see that there is no answer, but not why", async () => {
  const { bot, replies } = start(createMockProvider([fail({ status: 401, message: "The key sk-1 is wrong." })]));
  await bot.hear("a", "Hi.");
  assert.deepEqual(replies, ["a: Sorry, I have no answer (provider-error). Please try again."]);
});
