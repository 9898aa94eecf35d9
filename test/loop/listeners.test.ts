import { describe, expect, it } from "vitest";
import { createLoopEvents, type ModelChunk, type Provider } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { never, play, tool, type Playing } from "./play.ts";

describe("an event listener", () => {
  const broken = new Error("no");

  it.for<[how: string, listener: () => unknown]>([
    [
      "throws",
      () => {
        throw broken;
      },
    ],
    ["rejects", () => Promise.reject(broken)],
  ])("that %s has its error reported once, with no effect on the run or other listeners", async ([, listener]) => {
    const playing = play([[text("Hello", { chunks: 5 }), toolCall("t")], text("Done.")], { tools: [tool("t", () => 1)] });
    const heard: string[] = [];
    playing.recording.emitter.on("text-delta", listener).on("text-delta", (event) => heard.push(event.text));
    expect((await playing.result).text).toBe("Done.");
    await playing.clock.flush();
    expect(heard.join("")).toBe("HelloDone.");
    expect(playing.recording.of("listener-error")).toMatchObject([
      { event: "text-delta", error: { name: "Error", message: "no" } },
    ]);
  });

  it("that throws while handling listener-error is not reported again", async () => {
    const playing = play([text("Hi")]);
    const fails = (): never => {
      throw broken;
    };
    playing.recording.emitter.on("text-delta", fails).on("listener-error", fails);
    expect((await playing.result).text).toBe("Hi");
    expect(playing.recording.of("listener-error")).toHaveLength(1);
  });

  it("added with once() is called once, and can remove itself with off()", async () => {
    const heard: string[] = [];
    const { emitter } = play([]).recording;
    const leaving = ({ text: said }: { readonly text: string }): void => {
      heard.push(`leaving ${said}`);
      emitter.off("text-delta", leaving);
    };
    emitter.once("text-delta", ({ text: said }) => heard.push(`once ${said}`)).on("text-delta", leaving);
    await play([text("abc", { chunks: 3 })], { events: emitter }).result;
    expect(heard).toEqual(["once a", "leaving a"]);
    expect(emitter.listenerCount("text-delta")).toBe(1);
  });

  it("added with once() is removed even if the listener throws", async () => {
    const playing = play([text("abc", { chunks: 3 })]);
    playing.recording.emitter.once("text-delta", () => {
      throw broken;
    });
    await playing.result;
    expect(playing.recording.of("listener-error")).toHaveLength(1);
    expect(playing.recording.of("text-delta")).toHaveLength(3);
  });

  it.for<[verb: string, act: (playing: Playing) => unknown, kind: string]>([
    ["stop", ({ control }) => control.stop(), "stopped"],
    ["kill", ({ control }) => control.kill(), "killed"],
    ["abort", ({ abort }) => abort.abort(), "aborted"],
  ])('that calls "%s" at a text-delta ends the run immediately', async ([, act, kind]) => {
    const playing = play([[text("abcdef", { chunks: 6 }), toolCall("t")]], { tools: [tool("t", () => 1)] });
    playing.recording.emitter.on("text-delta", (event) => void (event.text === "c" && act(playing)));
    const result = await playing.result;
    expect([result.reason.kind, result.text, result.toolCallsExecuted]).toEqual([kind, "abc", 0]);
    expect(playing.provider.active).toBe(0);
  });

  it("that calls control.stop() prevents the request for the next chunk", async () => {
    let asked = 0;
    const next = (): Promise<IteratorResult<ModelChunk>> => {
      asked += 1;
      return Promise.resolve({ done: false, value: { type: "text-delta", text: `${asked}` } });
    };
    const provider: Provider = { id: "p", model: "m", stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
    const playing = play([], ({ control }) => {
      const events = createLoopEvents();
      events.on("text-delta", (event) => void (event.text === "3" && control.stop()));
      return { provider, events };
    });
    expect([(await playing.result).text, asked]).toEqual(["123", 3]);
  });

  it("that calls control.stop() at run-end does not change the result", async () => {
    const playing = play([text("Hi")]);
    playing.recording.emitter.on("run-end", () => void playing.control.stop());
    expect((await playing.result).reason.kind).toBe("answered");
    expect(playing.control.hasStopRequest()).toBe(false);
  });

  it("that returns a pending promise does not delay the run", async () => {
    const playing = play([[text("abc", { chunks: 3 })]]);
    const waiting: () => unknown = () => never;
    playing.recording.emitter.on("text-delta", waiting);
    expect((await playing.result).text).toBe("abc");
  });
});
