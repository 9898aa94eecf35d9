import { describe, expect, it } from "vitest";
import { providerError, type Provider, withFallback, withRetry } from "turnwright";
import { chunk, fail, finish, providerMetadata, stall, text, usage } from "turnwright/testing";
import { answer, busy, named } from "./models.ts";
import { callOf, goRequest, outline, outlineAll } from "./outline.ts";

describe("nested withRetry and withFallback", () => {
  const quick = { baseDelayMs: 0 };

  it.for<[what: string, make: () => Provider, lines: readonly string[]]>([
    [
      "withFallback around withRetry",
      () => withFallback([withRetry(named("a", busy, busy, busy), quick), withRetry(named("b", busy, text("Hi.")), quick)]),
      [
        "start 1 a/a-1",
        "discard 1 overloaded",
        "start 2 a/a-1",
        "discard 2 overloaded",
        "start 3 a/a-1",
        "discard 3 overloaded",
        "start 4 b/b-1",
        "discard 4 overloaded",
        "start 5 b/b-1",
        ...answer,
      ],
    ],
    [
      "withFallback around withFallback",
      () =>
        withFallback([
          withFallback([named("a", busy), named("b", busy)]),
          withFallback([named("c", busy), named("d", text("Hi."))]),
        ]),
      [
        "start 1 a/a-1",
        "discard 1 overloaded",
        "start 2 b/b-1",
        "discard 2 overloaded",
        "start 3 c/c-1",
        "start 3 c/c-1",
        "discard 3 overloaded",
        "start 4 d/d-1",
        ...answer,
      ],
    ],
    [
      "withRetry around a withFallback that discards text",
      () => withRetry(withFallback([named("a", [text("Half"), busy], text("Hi.")), named("b", busy)]), quick),
      [
        "start 1 a/a-1",
        "start 1 a/a-1",
        "text Half",
        "discard 1 overloaded",
        "start 2 b/b-1",
        "discard 2 overloaded",
        "start 3 a/a-1",
        "start 3 a/a-1",
        ...answer,
      ],
    ],
    [
      "a custom wrapper that sends attempt-start",
      () =>
        withFallback([
          named("a", [chunk({ type: "attempt-start", attempt: 9, provider: "x", model: "x-1", family: "f" }), busy]),
          named("b", text("Hi.")),
        ]),
      ["start 1 a/a-1", "start 1 x/x-1/f", "discard 1 overloaded", "start 2 b/b-1", ...answer],
    ],
    [
      "a custom wrapper that sends attempt-discarded without attempt-start",
      () =>
        withFallback([
          named("a", [
            text("A"),
            chunk({ type: "attempt-discarded", attempt: 9, error: providerError("server", "No.") }),
            text("B"),
            busy,
          ]),
          named("b", text("Hi.")),
        ]),
      [
        "start 1 a/a-1",
        "text A",
        "discard 1 server",
        "start 2 a/a-1",
        "text B",
        "discard 2 overloaded",
        "start 3 b/b-1",
        ...answer,
      ],
    ],
  ])("number all attempts consecutively: %s", async ([, make, lines]) => {
    expect(await outlineAll(make())).toEqual(lines);
  });

  it.for<[what: string, make: () => Provider, finals: readonly boolean[]]>([
    ["withRetry", () => withRetry(named("a", busy, text("Hi.")), quick), [true, true]],
    ["withFallback", () => withFallback([named("a", busy), named("b", text("Hi."))]), [false, true]],
    [
      "withFallback around withRetry",
      () => withFallback([withRetry(named("a", fail({ status: 401 }))), withRetry(named("b", text("Hi.")))]),
      [false, true],
    ],
    ["withRetry around withFallback", () => withRetry(withFallback([named("a", text("Hi.")), named("b")]), quick), [true, false]],
  ])("set isFinal on the attempts whose output is never discarded: %s", async ([, make, finals]) => {
    const seen: boolean[] = [];
    for await (const one of make().stream(goRequest, callOf())) if (one.type === "attempt-start") seen.push(one.isFinal === true);
    expect(seen).toEqual(finals);
  });

  it("apply the outer wrapper's time limits to each attempt of the inner wrapper", async () => {
    const inner = withFallback([named("a", stall({ ignoreSignal: true })), named("b", stall())]);
    const { clock, lines, ended } = outline(withFallback([inner, named("c", text("Hi."))], { firstChunkMs: 300 }));
    await clock.advance(400);
    expect(lines.at(-1)).toBe("start 2 b/b-1");
    await clock.advance(300);
    await ended;
    expect([lines.slice(-3), clock.now(), clock.pending]).toEqual([answer, 700, 0]);
  });

  it("wait for a retry even if the delay exceeds the outer wrapper's time limits", async () => {
    const slow = withRetry(named("a", busy, text("Hi.")), { baseDelayMs: 10_000 });
    const lines = await outlineAll(withFallback([slow, named("b")], { firstChunkMs: 300, streamIdleMs: 300 }));
    expect(lines.slice(-4)).toEqual(["start 2 a/a-1", ...answer]);
  });

  it("pass each continuation token to the wrapper that created it", async () => {
    const b = named("b", finish("continue", { token: "t" }), text("Hi."));
    const provider = withFallback([named("x", busy), withFallback([named("a", busy), b])]);
    const lines = await outlineAll(provider);
    expect(lines.at(-2)).toBe("finish continue turnwright-fallback:1:turnwright-fallback:1:t");
    await outlineAll(provider, { request: { continuationToken: "turnwright-fallback:1:turnwright-fallback:1:t" } });
    expect(b.requests.map(({ continuationToken }) => continuationToken)).toEqual([undefined, "t"]);
  });

  it("report each attempt's usage separately", async () => {
    const tokens = usage({ inputTokens: 5, outputTokens: 2 });
    const provider = withFallback([
      withRetry(named("a", [tokens, busy], [tokens, providerMetadata(1), busy]), { maxAttempts: 2, ...quick }),
      named("b", [text("Hi."), tokens]),
    ]);
    const lines = await outlineAll(provider);
    expect(lines.filter((line) => /^(?:usage|discard)/.test(line))).toEqual([
      "usage 7",
      "discard 1 overloaded",
      "usage 7",
      "discard 2 overloaded",
      "usage 7",
    ]);
  });
});
