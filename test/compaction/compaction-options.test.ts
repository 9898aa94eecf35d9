import { describe, expect, it } from "vitest";
import { compactMessages } from "turnwright/middleware";
import type { CompactionOptions } from "../../src/middleware/compaction/compact-messages.ts";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { start } from "./compaction-stage.ts";

describe("compactMessages", () => {
  it.for<[options: object, message: string]>([
    [{ when: 0 }, "compactMessages.when"],
    [{ when: -1 }, "compactMessages.when"],
    [{ keep: Number.NaN }, "compactMessages.keep"],
    [{ when: 0.2, keep: 0.5 }, "compactMessages.keep"],
    [{ when: 1_000, keep: 2_000 }, "compactMessages.keep"],
    [{ contextWindow: "large" }, "compactMessages.contextWindow"],
    [{ summarize: { provider: {} } }, "compactMessages.summarize.provider"],
    [{ summarize: { maxOutputTokens: 0 } }, "compactMessages.summarize.maxOutputTokens"],
    [{ summarize: { prompt: "x" } }, "prompt"],
    [{ when: 0.5, at: 3 }, "at"],
  ])("rejects the options %j", ([options, message]) => {
    expect(() => compactMessages(options as CompactionOptions)).toThrow(message);
  });

  it("reports an error thrown by contextWindow without ending the run", async () => {
    const contextWindow = (): number => {
      throw new Error("No catalog.");
    };
    const { playing, result } = start({ calls: 1 }, { contextWindow });
    const { status } = await result;
    const reported = playing.recording.events.flatMap((event) => (event.type === "listener-error" ? [event.event] : []));
    expect([status, new Set(reported)]).toEqual(["completed", new Set(["compaction.contextWindow"])]);
  });
});

describe("compactMessages with a service that can summarize", () => {
  const playNative = (native: boolean | undefined) => {
    const mock = createMockProvider([toolCall("search", {}), text("Done.")], { compacts: true });
    const compaction = compactMessages({ when: 0.5, contextWindow: 1_000, native });
    const tools = [tool("search", () => "x".repeat(40_000))];
    return { mock, playing: play([], { provider: mock, tools, middleware: [compaction] }) };
  };

  it("sends `compactAt` to the service instead of requesting a summary", async () => {
    const { mock, playing } = playNative(undefined);
    await playing.result;
    expect(mock.requests.map(({ compactAt, purpose }) => [compactAt, purpose])).toEqual([
      [500, undefined],
      [500, undefined],
    ]);
  });

  it("does not send `compactAt` to the service if `native` is false", async () => {
    const { mock, playing } = playNative(false);
    await playing.result;
    expect(mock.requests[0]?.compactAt).toBe(undefined);
  });
});
