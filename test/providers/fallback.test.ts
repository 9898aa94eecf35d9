import { describe, expect, it } from "vitest";
import { providerError, type Provider, withFallback } from "turnwright";
import {
  chunk,
  createMockProvider,
  endEarly,
  fail,
  failInBand,
  finish,
  refusal,
  text,
  toolCall,
  type MockMessage,
} from "turnwright/testing";
import { answer, busy, named } from "./models.ts";
import { callOf, goRequest, outlineAll } from "./outline.ts";

describe("withFallback", () => {
  it("has its first provider's id, model and family", () => {
    const first = createMockProvider([], { id: "a", model: "m", family: "f" });
    const provider = withFallback([first, named("b")]);
    expect([provider.id, provider.model, provider.family]).toEqual(["a", "m", "f"]);
    expect(withFallback([named("a")]).family).toBeUndefined();
  });

  it("does not call the second provider if the first provider answers", async () => {
    const second = named("b");
    expect(await outlineAll(withFallback([named("a", text("Hi.")), second]))).toEqual(["start 1 a/a-1", ...answer]);
    expect(second.calls).toBe(0);
  });

  it.for<[what: string, turn: MockMessage, code: string, said?: readonly string[]]>([
    ["a thrown error", busy, "overloaded"],
    ["an error chunk", failInBand(providerError("server", "It broke.")), "server"],
    ["a rejected API key", fail({ status: 401 }), "auth"],
    ["a bad request", fail({ status: 400 }), "bad-request"],
    ["an error that reports a full context", fail({ status: 400, code: "context_length_exceeded" }), "context-too-long"],
    ["a programming error", fail(new RangeError("odd")), "server"],
    ["a stream that ends without a finish chunk", endEarly(), "stream-ended-early"],
    ['the finish reason "error"', finish("error"), "finish-error"],
    ['the finish reason "unknown"', finish("unknown"), "finish-unknown"],
    ["an output limit that is reached before any text", finish("length"), "no-output"],
    ['the finish reason "tool-calls" without a call', finish("tool-calls"), "no-output"],
    ["text and an error", [text("Half"), busy], "overloaded", ["text Half"]],
    ["a call and an error", [toolCall("t", {}, { fragments: 0 }), busy], "overloaded", ["call t"]],
    ["an invalid text chunk", chunk({ type: "text-delta", text: 7 } as never), "server"],
    ["a chunk of an unknown type", chunk({ type: "odd" } as never), "server"],
    ["a chunk that is null", chunk(null as never), "server"],
    ["a call in a stream that ends early", [toolCall("t", {}, { fragments: 0 }), endEarly()], "stream-ended-early", ["call t"]],
  ])("calls the next provider after %s", async ([, turn, code, said = []]) => {
    expect(await outlineAll(withFallback([named("a", turn), named("b", text("Hi."))]))).toEqual([
      "start 1 a/a-1",
      ...said,
      `discard 1 ${code}`,
      "start 2 b/b-1",
      ...answer,
    ]);
  });

  it.for<[what: string, turn: MockMessage, last: string]>([
    ["an empty answer", finish("stop"), "finish stop"],
    ["a refusal", [refusal("No."), finish("refusal")], "finish refusal"],
    ["a refusal without text", finish("refusal"), "finish refusal"],
    ["a content filter", finish("content-filter"), "finish content-filter"],
    ["an answer that is cut off", [text("Half"), finish("length")], "finish length"],
    ["a call that the service could not read", finish("malformed-call"), "finish malformed-call"],
    ["a paused message", finish("paused"), "finish paused turnwright-fallback:0"],
  ])("does not call the next provider after %s", async ([, turn, last]) => {
    const second = named("b");
    const lines = await outlineAll(withFallback([named("a", turn), second]));
    expect([lines.at(-2), second.calls]).toEqual([last, 0]);
  });

  it("calls the next provider if a stream cannot be opened", async () => {
    const providers: readonly Provider[] = [
      { id: "a", model: "a-1", stream: () => Promise.resolve([]) as never },
      {
        id: "b",
        model: "b-1",
        stream: () => {
          throw Object.assign(new Error("No."), { status: 500 });
        },
      },
      named("c", text("Hi.")),
    ];
    expect((await outlineAll(withFallback(providers))).filter((line) => !line.startsWith("start"))).toEqual([
      "discard 1 server",
      "discard 2 server",
      ...answer,
    ]);
  });

  it("reports the last error and the number of providers if all providers fail", async () => {
    const told = fail({ status: 429, message: "Slow down.", headers: { "retry-after": "2" } });
    const lines = await outlineAll(
      withFallback([named("a", busy), named("b", failInBand(providerError("server", "No."))), named("c", told)]),
    );
    expect(lines).toEqual([
      "start 1 a/a-1",
      "discard 1 overloaded",
      "start 2 b/b-1",
      "discard 2 server",
      "start 3 c/c-1",
      "error rate-limit: All 3 providers failed; the last error: Slow down.",
      "end",
    ]);
    const stream = withFallback([named("a", busy), named("b", told)]).stream(goRequest, callOf());
    const chunks = [];
    for await (const one of stream) chunks.push(one);
    expect(chunks.at(-1)).toMatchObject({ error: { status: 429, retryable: true, retryAfterMs: 2_000 } });
  });

  it("passes on a single provider's failure unchanged", async () => {
    expect(await outlineAll(withFallback([named("a", busy)]))).toEqual(["start 1 a/a-1", "throws overloaded"]);
    expect(await outlineAll(withFallback([named("a", endEarly())]))).toEqual(["start 1 a/a-1", "end"]);
    expect(await outlineAll(withFallback([named("a", finish("error"))]))).toEqual(["start 1 a/a-1", "finish error", "end"]);
  });

  it("ignores later changes to its list of providers", async () => {
    const list = [named("a", busy), named("b", text("Hi."))];
    const provider = withFallback(list);
    list.pop();
    expect((await outlineAll(provider)).slice(-3)).toEqual(answer);
  });

  it.for<[what: string, providers: unknown, options: unknown, facts: object]>([
    [
      "a missing list of providers",
      undefined,
      {},
      { code: "invalid-option", details: { option: "providers", received: "undefined" } },
    ],
    ["an empty list of providers", [], {}, { details: { option: "providers", received: "an array of 0 items" } }],
    ["a provider in place of a list of providers", named("a"), {}, { details: { option: "providers" } }],
    ["a list with an item that is not a provider", [named("a"), { id: "b" }], {}, { details: { option: "providers[1]" } }],
    ["an array as options", [named("a")], [], { details: { option: "options" } }],
    ["an unknown option", [named("a")], { idleMs: 1 }, { code: "unknown-option" }],
    ["a firstChunkMs of 0", [named("a")], { firstChunkMs: 0 }, { details: { option: "firstChunkMs" } }],
    ["a streamIdleMs that is not an integer", [named("a")], { streamIdleMs: 0.5 }, { details: { option: "streamIdleMs" } }],
    ["a negative cooldownMs", [named("a")], { cooldownMs: -1 }, { details: { option: "cooldownMs" } }],
  ])("rejects %s", ([, providers, options, facts]) => {
    let thrown: unknown;
    try {
      withFallback(providers as never, options as never);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ name: "LoopError", ...facts });
  });
});
