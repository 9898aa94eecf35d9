import { describe, expect, it } from "vitest";
import { type Provider, withFallback } from "turnwright";
import { createMockProvider, fail, heartbeat, stall, text, wait, type MockProvider, type MockMessage } from "turnwright/testing";
import { callOf, goRequest, outline } from "./outline.ts";

const mock = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });
const busy = fail({ status: 503, message: "Busy." });
const answer = ["text Hi.", "finish stop", "end"] as const;

describe("withFallback with a silent provider", () => {
  it.for<[when: string, turn: MockMessage, options: object, at: number, limit: string]>([
    ["sends no first chunk within the run's firstChunkMs", stall(), {}, 2_000, "start 1 a/a-1"],
    ["sends no first chunk within the firstChunkMs option", stall(), { firstChunkMs: 300 }, 300, "start 1 a/a-1"],
    ["sends nothing more within the run's streamIdleMs", [text("Half"), stall()], {}, 1_000, "text Half"],
    ["sends nothing more within the streamIdleMs option", [text("Half"), stall()], { streamIdleMs: 300 }, 300, "text Half"],
    [
      "sends no first chunk within a longer firstChunkMs than the run's",
      stall(),
      { firstChunkMs: 9_000 },
      9_000,
      "start 1 a/a-1",
    ],
    ["sends only a heartbeat", [wait(250), heartbeat(), stall()], { firstChunkMs: 300 }, 550, "start 1 a/a-1"],
    ["ignores its signal", stall({ ignoreSignal: true }), { firstChunkMs: 300 }, 400, "start 1 a/a-1"],
  ])("calls the next provider if the first provider %s", async ([, turn, options, at, before]) => {
    const second = mock("b", text("Hi."));
    const { clock, lines, ended } = outline(withFallback([mock("a", turn), second], options));
    await clock.advance(at - 1);
    expect([lines.at(-1), second.calls]).toEqual([before, 0]);
    await clock.advance(1);
    expect(lines.slice(-5)).toEqual(["discard 1 network", "start 2 b/b-1", ...answer]);
    await ended;
    expect(clock.pending).toBe(0);
  });

  it("counts usage that the silent provider reports after its signal fires", async () => {
    const { clock, lines, ended } = outline(
      withFallback([
        {
          id: "a",
          model: "a-1",
          async *stream(_request, { signal, clock }) {
            yield { type: "text-delta", text: "Half" };
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            await new Promise<void>((resolve) => void clock.setTimeout(resolve, 50));
            yield { type: "text-delta", text: "late" };
            yield { type: "usage", mode: "snapshot", usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } };
          },
        },
        mock("b", text("Hi.")),
      ]),
    );
    await clock.runAll();
    await ended;
    expect(lines).toEqual(["start 1 a/a-1", "text Half", "usage 7", "discard 1 network", "start 2 b/b-1", ...answer]);
  });

  it("keeps waiting for the last provider", async () => {
    const { clock, lines, beats, abort, ended } = outline(
      withFallback([mock("a", busy), mock("b", [wait(5_000), heartbeat(), stall()])], { firstChunkMs: 300 }),
    );
    await clock.advance(60_000);
    expect([lines.at(-1), clock.pending]).toEqual(["start 2 b/b-1", 0]);
    expect(beats).toEqual([0, 5_000]);
    abort.abort();
    await ended;
  });

  it("ignores heartbeats from a provider that was replaced", async () => {
    let beat = (): void => {};
    const { clock, beats, ended } = outline(
      withFallback([
        {
          id: "a",
          model: "a-1",
          async *stream(_request, call): AsyncIterable<never> {
            beat = call.heartbeat;
            await new Promise(() => {});
            yield* [];
          },
        },
        mock("b", [wait(500), text("Hi.")]),
      ]),
    );
    await clock.advance(2_100);
    const before = beats.length;
    beat();
    expect(beats.length).toBe(before);
    await clock.runAll();
    await ended;
  });
});

describe("withFallback after a provider has failed", () => {
  const order = async (provider: Provider, times: readonly number[]): Promise<readonly string[]> => {
    const clock = callOf().clock as ReturnType<typeof outline>["clock"];
    const seen: string[] = [];
    for (const at of times) {
      await clock.advance(at - clock.now());
      const starts: string[] = [];
      for await (const one of provider.stream(goRequest, callOf({ clock })))
        if (one.type === "attempt-start") starts.push(one.provider);
      seen.push(starts.join(""));
    }
    return seen;
  };
  const down = (id: string): MockProvider => createMockProvider(() => busy, { id });
  const up = (id: string): MockProvider => createMockProvider(() => text("Hi."), { id });

  it("by default, calls the failed provider first again for the next request", async () => {
    expect(await order(withFallback([down("a"), up("b")]), [0, 1])).toEqual(["ab", "ab"]);
  });

  it("calls the failed provider last until cooldownMs has passed", async () => {
    const provider = withFallback([down("a"), down("b"), up("c")], { cooldownMs: 1_000 });
    expect(await order(provider, [0, 999, 1_000])).toEqual(["abc", "c", "abc"]);
    expect(await order(withFallback([down("a"), down("b")], { cooldownMs: 1_000 }), [0, 1])).toEqual(["ab", "ab"]);
  });
});
