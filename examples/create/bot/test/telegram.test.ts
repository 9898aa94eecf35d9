import assert from "node:assert/strict";
import { test } from "node:test";
import { connectTelegram } from "../src/telegram.ts";

interface Call {
  readonly method: string;
  readonly body: { readonly offset?: number; readonly text?: string };
}

await test("Telegram messages reach the bot once, and long replies are split", async () => {
  const stop = new AbortController();
  const calls: Call[] = [];
  const answers: object[] = [
    { ok: false, description: "Too Many Requests" },
    { ok: true, result: [{ update_id: 8, message: { text: "Hi.", chat: { id: 7 } } }, { update_id: 9 }] },
  ];
  const fakeFetch: typeof fetch = async (url, init) => {
    const request = new Request(url, init);
    calls.push({ method: request.url.split("/").at(-1) ?? "", body: (await request.json()) as Call["body"] });
    return Response.json(answers.shift() ?? (stop.abort(), { ok: true, result: [] }));
  };
  const telegram = connectTelegram("token", { fetch: fakeFetch, retryMs: 1 });
  const heard: string[] = [];
  await telegram.poll({ hear: async (room, text) => void heard.push(`${room}: ${text}`) }, stop.signal);
  assert.deepEqual(heard, ["7: Hi."]);
  assert.equal(calls.at(-1)?.body.offset, 10);

  calls.length = 0;
  await telegram.send("7", "a".repeat(5_000));
  assert.deepEqual(
    calls.map(({ method, body }) => [method, body.text?.length]),
    [
      ["sendMessage", 4_096],
      ["sendMessage", 904],
    ],
  );
});
