import { describe, expect, it } from "vitest";
import { approve, createLoopControl, type Journal, type LoopControl, type LoopOptions, type Middleware } from "turnwright";
import { createTestClock, fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { play, tool } from "../loop/play.ts";
import { textsOf } from "../loop/transcript-lines.ts";

const verbs: readonly (readonly [name: string, act: (control: LoopControl) => "accepted" | "finished"])[] = [
  ["stop", (control) => control.stop()],
  ["kill", (control) => control.kill()],
  ["steer", (control) => control.steer("And?")],
  ["interrupt", (control) => control.interrupt("And?")],
  ["drain", (control) => control.drain()],
];

function slowAt(place: string, clock: ReturnType<typeof createTestClock>, journal: Journal): Journal {
  const wait = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 100));
  const step: Journal["step"] = async (key, body) => {
    const answer = await journal.step(key, body);
    if (key === place) await wait();
    return answer;
  };
  const open: Journal["open"] = async () => async () => {
    if (place === "close") await wait();
  };
  return { ...journal, step, open };
}

const ask: readonly Middleware[] = [approve(() => ({ kind: "ask" }))];
const ends: readonly (readonly [
  name: string,
  turns: readonly MockMessage[],
  more: Partial<LoopOptions>,
  places: readonly string[],
])[] = [
  ["an answer", [text("Hi.")], {}, ["i0/answered", "close"]],
  ["a failed stream", [fail({ status: 503 })], {}, ["i0/answered", "close"]],
  ["an iteration limit", [toolCall("quick")], { limits: { maxIterations: 1 } }, ["i0/next", "close"]],
  ["a waiting call", [toolCall("quick")], { middleware: ask }, ["close"]],
];

const writing = (place: string): string => (place === "close" ? "is closed" : `writes ${place}`);

describe.for(
  ends.flatMap(([end, turns, more, places]) => places.map((place) => [end, writing(place), turns, more, place] as const)),
)("the control of a run that ends with %s, used while the journal %s", ([, , turns, more, place]) => {
  it.for(verbs)('returns "finished" from %s(), which has no effect', async ([, act]) => {
    const clock = createTestClock();
    const store = createDurableStore();
    const playing = play(turns, {
      clock,
      tools: [tool("quick", () => 1)],
      journal: slowAt(place, clock, store.open()),
      ...more,
    });
    await clock.flush();
    expect(playing.endedAt()).toBe(undefined);
    const answer = act(playing.control);
    await clock.runAll();
    const result = await playing.result;
    const undisturbed = play(turns, { tools: [tool("quick", () => 1)], ...more });
    expect([answer, result.reason.kind, textsOf(result.undelivered)]).toEqual([
      "finished",
      (await undisturbed.result).reason.kind,
      [],
    ]);
  });
});

it("control.stop() takes effect if the run would otherwise answer a steered message", async () => {
  const clock = createTestClock();
  const control = createLoopControl();
  const journal = slowAt("i0/answered", clock, createDurableStore().open());
  const playing = play([text("Hi."), text("Again.")], { clock, control, journal });
  playing.recording.emitter.once("iteration-start", () => void control.steer("More."));
  await clock.flush();
  const answer = control.stop();
  await clock.runAll();
  const { reason, undelivered } = await playing.result;
  expect([answer, reason.kind, textsOf(undelivered)]).toEqual(["accepted", "stopped", ["More."]]);
});

it("control.stop() prevents the retry of a failed request while the journal is still writing", async () => {
  const clock = createTestClock();
  const store = createDurableStore();
  await play([fail({ status: 503 })], { runId: "late", journal: store.open() }).result;
  store.records.delete("i0/answered");
  const journal = slowAt("i0/answered", clock, store.open());
  const playing = play([text("Hi.")], { runId: "late", clock, journal, resume: "retry-last" });
  await clock.flush();
  const answer = playing.control.stop();
  await clock.runAll();
  expect([answer, (await playing.result).reason.kind, playing.provider.calls]).toEqual(["accepted", "stopped", 0]);
});
