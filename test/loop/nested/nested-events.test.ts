import { describe, expect, it } from "vitest";
import { memoryJournal, runToolLoop, runNested } from "turnwright";
import { createMockProvider, createTestClock, recordEvents, text, toolCall, wait } from "turnwright/testing";
import { play, tool } from "../play.ts";
import { chatter, readAll, readSome, start } from "../reading.ts";
import { callAndAnswer, kinds, nesting, pathsOf, question, scripted } from "./nesting.ts";

const ok = tool("ok", (_, { progress }) => {
  progress("on it");
  return "fine";
});

describe.for(kinds)("events from a run inside an %s", (kind) => {
  it("reach the listeners of all outer runs, with the path of calls from the outermost call", async () => {
    const inner = recordEvents();
    const middle = recordEvents();
    const grandchild = scripted([kind, "grandchild"], [toolCall("ok", {}, { id: "third" }), text("g")], {
      tools: [ok],
      events: inner.emitter,
    });
    const child = scripted([kind, "child"], [toolCall("grandchild", {}, { id: "second" }), text("c")], {
      tools: [grandchild.tool],
      events: middle.emitter,
    });
    const playing = play([toolCall("child", {}, { id: "first" }), text("Done.")], { tools: [child.tool] });
    await playing.result;
    const { events } = playing.recording;
    expect(pathsOf(events, "run-end")).toEqual(["first > second", "first", "-"]);
    expect(pathsOf(events, "tool-progress")).toEqual(["first > second"]);
    // A listener of an inner run gets paths that begin below that run.
    expect(pathsOf(middle.events, "run-end")).toEqual(["second", "-"]);
    expect(pathsOf(inner.events, "run-end")).toEqual(["-"]);
    expect(inner.events).toEqual(events.filter(({ path }) => path?.length === 2).map(({ path: _, ...event }) => event));
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(3);
  });

  it("come between the start and the end of the call, with exactly one end for each start", async () => {
    const child = scripted([kind, "child"], [toolCall("ok"), text("c", { chunks: 1 })], { tools: [ok] });
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool] });
    await playing.result;
    expect(playing.recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          tool-args-delta child (call_i0_0) "{}"
          tool-args-end child (call_i0_0) {}
          tool-start child (call_i0_0) {}
          run-start
            iteration-start 0
              tool-args-delta ok (call_i0_0) "{}"
              tool-args-end ok (call_i0_0) {}
              tool-start ok (call_i0_0) {}
              tool-progress ok (call_i0_0) "on it"
              tool-end ok (call_i0_0) completed
            iteration-end 0 tool-calls
            iteration-start 1
              text-delta "c"
            iteration-end 1 completed
          run-end completed answered
          tool-end child (call_i0_0) completed
        iteration-end 0 tool-calls
        iteration-start 1
          text-delta "Done."
        iteration-end 1 completed
      run-end completed answered"
    `);
  });

  it("appear in the outer run's stream", async () => {
    const child = scripted([kind, "child"], [toolCall("ok"), text("c")], { tools: [ok] });
    const recording = recordEvents();
    const { stream } = start([toolCall("child"), text("Done.")], { tools: [child.tool], events: recording.emitter });
    const events = await readAll(stream);
    expect(events).toEqual(recording.events);
    expect(pathsOf(events, "text-delta")).toEqual(["call_i0_0", "-"]);
    expect(events.at(-1)).toMatchObject({ type: "run-end", status: "completed" });
  });

  it("wait for a slow reader and make the nested model wait, without a timeout", async () => {
    const { provider, sent } = chatter(300);
    const timeouts = { streamIdleMs: 1_000, firstChunkMs: 1_000, toolMs: Number.POSITIVE_INFINITY };
    const child = nesting(kind, "child", () => ({ messages: question, provider }));
    const reading = start([toolCall("child"), text("Done.")], { tools: [child], timeouts });
    await readSome(reading, 8);
    await reading.clock.advance(1_000_000);
    const before = sent();
    expect(before).toBeLessThan(100);
    await readSome(reading, 60);
    await reading.clock.advance(1_000_000);
    expect(sent()).toBeGreaterThan(before);
    expect(sent()).toBeLessThan(200);
    const events = await readAll(reading.stream);
    expect([(await reading.stream.result).text, sent(), reading.clock.pending]).toEqual(["Done.", 300, 0]);
    expect(events.filter(({ type, path }) => type === "text-delta" && path !== undefined).length).toBeGreaterThan(200);
  });

  it('include "listener-error" in the run of the throwing listener and in the outer run', async () => {
    const inner = recordEvents();
    const child = scripted([kind, "child"], [text("c")], { events: inner.emitter });
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool] });
    const throwing = (message: string) => () => {
      throw new Error(message);
    };
    inner.emitter.on("run-start", throwing("inner"));
    playing.recording.emitter.on("run-start", throwing("outer"));
    expect((await playing.result).text).toBe("Done.");
    expect(inner.of("listener-error").map(({ error }) => error.message)).toEqual(["inner"]);
    expect(playing.recording.of("listener-error").map(({ error, path }) => [error.message, path])).toEqual([
      ["outer", undefined],
      ["inner", ["call_i0_0"]],
    ]);
  });

  it("end with the run, even if the tool does not await the run", async () => {
    const clock = createTestClock();
    const late = createMockProvider([[wait(1_000), text("late")]]);
    const loses = tool("loses", (_, ctx) => void runNested(ctx, { messages: question, provider: late }));
    const playing = play([toolCall("loses"), text("Done.")], { tools: [loses], clock });
    await clock.runAll();
    const { events } = playing.recording;
    expect(pathsOf(events, "run-end")).toEqual(["call_i0_0", "-"]);
    const [ended, called] = [
      events.findIndex(({ type }) => type === "run-end"),
      events.findIndex(({ type }) => type === "tool-end"),
    ];
    expect([ended < called, events.at(-1)?.type, clock.now()]).toEqual([true, "run-end", 0]);
  });
});

it("an agent tool's events are replayed from the journal with the same paths", async () => {
  const child = scripted(["agent tool", "child"], callAndAnswer("ok"), { tools: [ok] });
  const playing = play(callAndAnswer("child"), { tools: [child.tool] });
  const result = await playing.result;
  const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
  const again = recordEvents();
  await runToolLoop({ ...playing.options, journal, events: again.emitter });
  const told = ["text-delta", "tool-start", "tool-end", "iteration-end"] as const;
  for (const type of told) {
    expect(pathsOf(again.events, type)).toEqual(pathsOf(playing.recording.events, type));
    expect(again.of(type).every(({ replayed }) => replayed === true)).toBe(true);
  }
  expect(pathsOf(again.events, "run-end")).toEqual(["call_i0_0", "-"]);
});
