import { describe, expect, it } from "vitest";
import { type ModelRequest, runToolLoop } from "turnwright";
import { memoryCassette, recordTo, replayFrom, text, toolCall } from "turnwright/testing";
import { script, textsOf, user, ask, echo, sum, record, complaintOf } from "./cassette-kit.ts";
import { play, request, setUp } from "./play.ts";

describe("replayFrom", () => {
  it("replays the recording of a matching request, regardless of the order of the requests", async () => {
    const provider = replayFrom(await record(ask("a"), ask("b"), ask("a")));
    const asked = [ask("b"), ask("a"), ask("a", { iteration: 7 })];
    expect(await Promise.all(asked.map(async (one) => textsOf(await play(provider, one))))).toEqual(["1", "0", "2"]);
  });

  it.for<[what: string, one: ModelRequest, other: ModelRequest]>([
    ["the order of tools", ask("a", { tools: [echo, sum] }), ask("a", { tools: [sum, echo] })],
    ["the order of keys", ask("a", { settings: { seed: 1, topP: 1 } }), ask("a", { settings: { topP: 1, seed: 1 } })],
    ["settings whose value is undefined", ask("a", { settings: { seed: undefined } }), ask("a")],
    [
      "provider metadata",
      ask("a", {
        messages: [
          {
            role: "assistant",
            content: [{ type: "text", text: "x" }],
            providerMetadata: [{ provider: "p", model: "m", item: 1 }],
          },
        ],
      }),
      ask("a", { messages: [{ role: "assistant", content: [{ type: "text", text: "x" }] }] }),
    ],
  ])("matches requests that differ only in %s", async ([, one, other]) => {
    expect(textsOf(await play(replayFrom(await record(one)), other))).toBe("0");
    expect(textsOf(await play(replayFrom(await record(other)), one))).toBe("0");
  });

  const said: ModelRequest = ask("a", {
    messages: [user("a"), { role: "assistant", content: [{ type: "text", text: "x" }] }, user("b")],
  });
  it.for<[what: string, recorded: ModelRequest, asked: ModelRequest, words: string]>([
    ["a different message", ask("a"), ask("b"), "message 0 (user) is different"],
    [
      "a different later message",
      said,
      { ...said, messages: [...said.messages.slice(0, 2), user("c")] },
      "message 2 (user) is different",
    ],
    [
      "a different assistant message",
      said,
      {
        ...said,
        messages: said.messages.map((message) =>
          message.role === "assistant" ? { ...message, content: [{ type: "text", text: "y" }] } : message,
        ),
      },
      "message 1 (assistant) is different",
    ],
    ["fewer messages", said, { ...said, messages: said.messages.slice(0, 1) }, "there are 1 messages instead of 3"],
    [
      "a different role",
      said,
      { ...said, messages: [user("a"), user("b")] },
      'message 1 (user) is different; the recorded role is "assistant"; there are 2 messages instead of 3',
    ],
    ["a different system prompt", ask("a", { system: "s" }), ask("a", { system: "t" }), '"system" is different'],
    ["a new system prompt", ask("a"), ask("a", { system: "t" }), '"system" is new'],
    ["a missing system prompt", ask("a", { system: "t" }), ask("a"), '"system" is missing'],
    [
      "a changed tool",
      ask("a", { tools: [echo] }),
      ask("a", { tools: [{ ...echo, description: "d" }] }),
      'tool "echo" is different',
    ],
    ["different tools", ask("a", { tools: [echo] }), ask("a", { tools: [sum] }), 'tool "echo" is missing; tool "sum" is new'],
    [
      "a different tool choice",
      ask("a", { toolChoice: "auto" }),
      ask("a", { toolChoice: { name: "echo" } }),
      '"toolChoice" is different',
    ],
    [
      "a different setting",
      ask("a", { settings: { seed: 1 } }),
      ask("a", { settings: { seed: 2 } }),
      '"settings.seed" is different',
    ],
    [
      "a different continuation token",
      ask("a", { continuationToken: "t" }),
      ask("a", { continuationToken: "u" }),
      '"continuationToken" is different',
    ],
  ])("rejects a request with %s and names the difference", async ([, recorded, asked, words]) => {
    const elsewhere = ask("quite another one", {
      system: "x",
      tools: [echo, sum],
      settings: { topP: 1, temperature: 1 },
      toolChoice: "none",
    });
    const cassette = await record(elsewhere, recorded);
    const nearest = `The cassette does not contain this request. Compared with the nearest recorded request 1 (counted from 0), ${words}.`;
    expect(await complaintOf(replayFrom(cassette), asked)).toBe(
      `${nearest} Record the run again, or replay in order with match: "order".`,
    );
    const inOrder = replayFrom(cassette, { match: "order" });
    expect([textsOf(await play(inOrder, asked)), textsOf(await play(inOrder, asked))]).toEqual(["0", "1"]);
    expect(await complaintOf(inOrder, asked)).toBe(
      "The cassette contains 2 requests, but more requests were sent. Record the run again.",
    );
  });

  it("rejects a request after the last recording, with the number of recordings in the error", async () => {
    const provider = replayFrom(await record(ask("a"), ask("b"), ask("b")));
    for (const one of ["b", "b"]) await play(provider, ask(one));
    expect(await complaintOf(provider, ask("b"))).toBe(
      "The cassette contains this request 2 times, but it was sent again. Record the run again.",
    );
    await play(provider, ask("a"));
    expect(await complaintOf(provider, ask("a"))).toBe(
      "The cassette contains this request once, but it was sent again. Record the run again.",
    );
    expect(await complaintOf(provider, ask("c"))).toBe(
      "The cassette contains 3 requests, but more requests were sent. Record the run again.",
    );
  });

  it("ends the run with a non-retryable error if no recording matches", async () => {
    const provider = replayFrom(await record(ask("a")));
    const { reason } = await runToolLoop({ provider, messages: [user("secret")] });
    expect(reason).toMatchObject({ kind: "provider-error", error: { code: "server", retryable: false } });
    expect(JSON.stringify(reason)).toContain("message 0 (user) is different");
    expect(JSON.stringify(reason)).not.toContain("secret");
  });

  it("assigns the recordings of identical requests in the order of the stream() calls", async () => {
    const cassette = memoryCassette();
    const provider = recordTo(cassette, script([text("0"), text("a")], [text("1"), text("b")]));
    const [one, other] = [provider, provider].map((each) => each.stream(request, setUp().call)[Symbol.asyncIterator]());
    for (let round = 0; round < 4; round += 1) for (const stream of [other, one]) await stream?.next();
    const replay = replayFrom(cassette);
    const streams = [replay.stream(request, setUp().call), replay.stream(request, setUp().call)];
    const texts = [];
    for (const stream of streams.reverse())
      for await (const chunk of stream) if (chunk.type === "text-delta") texts.push(chunk.text);
    expect(texts).toEqual(["1", "b", "0", "a"]);
  });
});

it("replayFrom: ends a run with an error if the tool results have changed", async () => {
  const cassette = memoryCassette();
  const provider = recordTo(cassette, script([toolCall("echo", { n: 1 })], [text("Done.")]));
  const tools = (answer: number): Parameters<typeof runToolLoop>[0]["tools"] => [{ ...echo, execute: () => answer }];
  await runToolLoop({ provider, tools: tools(1), messages: [user("Go.")] });
  const { reason } = await runToolLoop({ provider: replayFrom(cassette), tools: tools(2), messages: [user("Go.")] });
  expect(JSON.stringify(reason)).toContain("message 2 (tool) is different");
});
