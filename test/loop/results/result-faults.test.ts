import { describe, expect, it } from "vitest";
import { memoryJournal, processResults, type ResultPipeline } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { never, play, tool } from "../play.ts";
import { changesOf, failuresOf, readingsOf, start } from "./result-stage.ts";

describe("a failing stage of processResults", () => {
  it.for<[stage: string, results: (fail: () => never) => ResultPipeline]>([
    ["processor", (fail) => ({ processor: fail, cacher: { threshold: 0, store: () => "stored" } })],
    ["extractor", (fail) => ({ extractor: { threshold: 0, extract: fail }, cacher: { threshold: 0, store: () => "stored" } })],
  ])("leaves the result unchanged for the next stage (failing stage: %s)", async ([stage, results]) => {
    const fail = (): never => {
      throw new Error("Out of order.");
    };
    const playing = start("whole", results(fail));
    expect([await readingsOf(playing), failuresOf(playing)]).toEqual([["stored"], [`results.${stage}: Out of order.`]]);
    expect(changesOf(playing)).toEqual(["result-cached 2 -> 2"]);
  });

  it("does not prevent the caching of other results (failing stage: cacher)", async () => {
    const store = (output: string): Promise<string> =>
      output === "a" ? Promise.reject(new Error("Full.")) : Promise.resolve("stored");
    const playing = play([[toolCall("a"), toolCall("b")], text("Done.")], {
      tools: [tool("a", () => "a"), tool("b", () => "b")],
      middleware: [processResults({ cacher: { threshold: 0, store } })],
    });
    expect([await readingsOf(playing), failuresOf(playing)]).toEqual([["a", "stored"], ["results.cacher: Full."]]);
  });

  it("is skipped after timeouts.callbackMs if it hangs", async () => {
    const playing = start("whole", { processor: () => never, cacher: { threshold: 0, store: () => "stored" } });
    await playing.clock.advance(29_999);
    expect(playing.endedAt()).toBeUndefined();
    await playing.clock.advance(1);
    expect(await readingsOf(playing)).toEqual(["stored"]);
    expect([failuresOf(playing), playing.clock.pending]).toEqual([["results.processor: The hook took longer than 30000 ms."], 0]);
  });

  it.for<[what: string, results: ResultPipeline, message: string]>([
    ["a number", { processor: () => 7 as never }, "results.processor: A stage of processResults must return a string."],
    [
      "undefined",
      { cacher: { threshold: 0, store: () => undefined as never } },
      "results.cacher: A stage of processResults must return a string.",
    ],
    [
      "an object without text",
      { extractor: { threshold: 0, extract: () => ({ said: "x" }) as never } },
      "results.extractor: extract() must return a string or { text, usage?, model? }.",
    ],
    [
      "invalid usage",
      { extractor: { threshold: 0, extract: () => ({ text: "x", usage: { inputTokens: Number.NaN } }) as never } },
      "results.extractor: The usage from extract() must include the numbers inputTokens and outputTokens.",
    ],
  ])("is reported and skipped if it returns %s", async ([, results, message]) => {
    const playing = start("whole", results);
    expect([await readingsOf(playing), failuresOf(playing)]).toEqual([["whole"], [message]]);
    expect((await playing.result).usage.totalTokens).toBeLessThan(1_000);
  });
});

describe("processResults at the end of the run", () => {
  it.for<[verb: "stop" | "kill", reason: string]>([
    ["stop", "stopped"],
    ["kill", "killed"],
  ])("interrupts the running stage and skips the other stages after a %s", async ([verb, reason]) => {
    const asked: string[] = [];
    const results: ResultPipeline = {
      extractor: { threshold: 0, extract: (output) => (asked.push(output), output === "a" ? "A" : never) },
      cacher: { threshold: 100, store: () => "stored" },
    };
    const playing = play([[toolCall("a"), toolCall("b"), toolCall("c")], text("Done.")], {
      tools: ["a", "b", "c"].map((name) => tool(name, () => name)),
      middleware: [processResults(results)],
    });
    await playing.clock.flush();
    playing.control[verb]();
    await playing.clock.advance(1);
    const result = await playing.result;
    // When the run ended, it had processed result "a" and was processing "b" and "c".
    expect([result.reason.kind, await readingsOf(playing), asked]).toEqual([reason, ["A", "b", "c"], ["a", "b", "c"]]);
    expect([failuresOf(playing), playing.clock.pending, playing.provider.calls]).toEqual([[], 0, 1]);
    const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
    const again = play([], { ...playing.options, journal, control: undefined });
    expect((await again.result).messages).toEqual(result.messages);
  });

  it("skips all stages if the run is stopped before the first stage", async () => {
    const asked: string[] = [];
    const stopped = play([[toolCall("quick"), toolCall("stopper")], text("Done.")], ({ control }) => ({
      tools: [tool("quick", () => "whole"), tool("stopper", () => void control.stop())],
      middleware: [processResults({ processor: (_, output) => (asked.push(output), "changed") })],
    }));
    expect([await readingsOf(stopped), asked]).toEqual([["whole", expect.objectContaining({ status: "interrupted" })], []]);
  });
});
