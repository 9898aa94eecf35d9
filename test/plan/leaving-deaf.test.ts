import { describe, expect, it } from "vitest";
import type { LoopOptions, ModelChunk } from "turnwright";
import type { Planner } from "turnwright/middleware";
import type { PlannerAnswer } from "../../src/middleware/plan/planner-prompt.ts";
import { createMockProvider, text } from "turnwright/testing";
import { countListeners } from "../loop/count-listeners.ts";
import { never, type Playing } from "../loop/play.ts";
import { createDeafModel, playOver } from "./leaving-stage.ts";

const said = (words: string): ModelChunk => ({ type: "text-delta", text: words });
const asksForAnswer = said('{"next_action":"response",');
const finished: ModelChunk = { type: "finish", reason: "stop" };

/** Each place is a point at which the model stops responding. `turns` are the chunks that it sends before, for each request. */
const places: readonly (readonly [where: string, turns: readonly (readonly ModelChunk[])[]])[] = [
  ["before a plan", [[]]],
  ["in the middle of a plan", [[said('{"next_action":')]]],
  ["in the middle of a repeated plan", [[said("No."), finished], [said('{"next_action":')]]],
  ["before the answer", [[asksForAnswer], []]],
  ["in the middle of the answer", [[asksForAnswer], [said("Here ")]]],
];

const verbs: readonly (readonly [verb: string, act: (playing: Playing) => unknown, kind: string])[] = [
  ["stop", ({ control }) => control.stop(), "stopped"],
  ["kill", ({ control }) => control.kill(), "killed"],
  ["abort", ({ abort }) => abort.abort(), "aborted"],
  ["interrupt", ({ control }) => control.interrupt("Hey."), "interrupted"],
];

const timeouts = { firstChunkMs: 3_000, streamIdleMs: 1_000, toolCleanupMs: 500 };

describe.for(places)("withPlanner: a silent model %s", ([where, turns]) => {
  it.for(verbs)("is abandoned immediately on %s", async ([, act, kind]) => {
    const listeners = countListeners();
    const model = createDeafModel(turns);
    const playing = playOver(model);
    await playing.clock.advance(50);
    act(playing);
    await playing.clock.flush();
    expect([playing.endedAt(), (await playing.result).reason.kind]).toEqual([50, kind]);
    // Two kinds of streams are not read to their end: a plan that the planner closes early, and a stream that the run gives up.
    const open = turns.filter((turn) => !turn.includes(finished)).length;
    expect([model.calls, model.left, playing.clock.pending]).toEqual([turns.length, open, 0]);
    expect(listeners.on(playing.abort.signal)).toBe(0);
    listeners.stop();
  });

  it("is abandoned when firstChunkMs or streamIdleMs ends the run", async () => {
    const model = createDeafModel(turns);
    const playing = playOver(model, () => ({ timeouts }));
    await playing.clock.runAll();
    const { reason } = await playing.result;
    const isFirst = where.includes("before");
    expect([reason.kind, playing.endedAt(), playing.clock.pending]).toEqual([
      isFirst ? "first-chunk" : "stream-idle",
      (isFirst ? timeouts.firstChunkMs : timeouts.streamIdleMs) + timeouts.toolCleanupMs,
      0,
    ]);
    expect(model.left).toBe(turns.filter((turn) => !turn.includes(finished)).length);
  });

  it("is abandoned when limits.wallClockMs ends the run", async () => {
    const model = createDeafModel(turns);
    const playing = playOver(model, () => ({ timeouts, limits: { wallClockMs: 700 } }));
    await playing.clock.runAll();
    expect([(await playing.result).reason.kind, playing.endedAt(), playing.clock.pending]).toEqual(["wall-clock", 1_200, 0]);
    expect(model.calls).toBe(turns.length);
  });
});

it.for<[how: string, onLeft: () => unknown]>([
  ["never ends", () => never],
  [
    "throws",
    () => {
      throw new Error("no");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no"))],
  ["returns undefined", () => undefined],
])("withPlanner: requests the answer even if return() of the plan's stream %s", async ([, onLeft]) => {
  const model = createDeafModel([[asksForAnswer], [said("Here."), finished]], onLeft);
  const playing = playOver(model);
  await playing.clock.flush();
  expect([(await playing.result).text, playing.endedAt(), model.left]).toEqual(["Here.", 0, 1]);
});

it("withPlanner: stops reading a plan even if the stream has no return()", async () => {
  const turns = [
    [asksForAnswer, said("never read")],
    [said("Here."), finished],
  ];
  const rest = turns.map((turn) => [...turn]);
  let calls = 0;
  const playing = playOver({
    id: "p",
    model: "m",
    stream: () => {
      const chunks = rest[(calls += 1) - 1] ?? [];
      const next = (): Promise<IteratorResult<ModelChunk>> => {
        const value = chunks.shift();
        return Promise.resolve(value === undefined ? { done: true, value } : { done: false, value });
      };
      return { [Symbol.asyncIterator]: () => ({ next }) };
    },
  });
  expect([(await playing.result).text, rest[0]?.length]).toEqual(["Here.", 1]);
});

const playWith = (planner: Planner, more: Partial<LoopOptions> = {}): Playing =>
  playOver(createMockProvider([text("Here.")]), () => ({ timeouts, ...more }), { planner });

describe("withPlanner: a planner function", () => {
  it.for(verbs)("is abandoned immediately on %s, even without reacting to the signal", async ([, act, kind]) => {
    let signal: AbortSignal | undefined;
    const playing = playWith((_, ports) => ((signal = ports.signal), never));
    await playing.clock.advance(50);
    expect(signal?.aborted).toBe(false);
    act(playing);
    await playing.clock.flush();
    expect([playing.endedAt(), (await playing.result).reason.kind, signal?.aborted]).toEqual([50, kind, true]);
    expect(playing.clock.pending).toBe(0);
  });

  it('ends the run with the reason "first-chunk" if no plan is returned in time', async () => {
    const playing = playWith(() => never);
    await playing.clock.runAll();
    expect([(await playing.result).reason, playing.endedAt()]).toEqual([{ kind: "first-chunk", limitMs: 3_000 }, 3_500]);
  });

  it("has no time limit while heartbeats arrive, unlike the answer", async () => {
    const playing = playOver(createDeafModel([[]]), () => ({ timeouts }), {
      planner: async (_, { heartbeat }) => {
        for (let beat = 0; beat < 5; beat += 1) {
          await new Promise<void>((resolve) => void playing.clock.setTimeout(resolve, 2_900));
          heartbeat();
        }
        await new Promise<void>((resolve) => void playing.clock.setTimeout(resolve, 2_000));
        return { next_action: "response" };
      },
    });
    await playing.clock.runAll();
    // The planner sends five heartbeats and returns 2 s later. Then the model is silent until firstChunkMs, and the run waits
    // toolCleanupMs for the model's stream.
    expect([(await playing.result).reason.kind, playing.endedAt()]).toEqual([
      "first-chunk",
      5 * 2_900 + 2_000 + timeouts.firstChunkMs + timeouts.toolCleanupMs,
    ]);
  });

  it.for<[how: string, planner: Planner, message: string]>([
    [
      "throws",
      () => {
        throw new Error("no idea");
      },
      "no idea",
    ],
    ["rejects", () => Promise.reject(new Error("no idea")), "no idea"],
    ["rejects with a string", () => Promise.reject("no idea"), "no idea"],
    ["rejects with undefined", () => Promise.reject(), "undefined"],
  ])("ends the run with an error before any request if the function %s", async ([, planner, message]) => {
    const model = createMockProvider([text("Here.")]);
    const playing = playOver(model, undefined, { planner });
    const { reason, error } = await playing.result;
    expect([reason.kind, error?.message, model.calls]).toEqual(["provider-error", expect.stringContaining(message), 0]);
  });

  it('ends the run with the error "no-output" if the returned value is not a plan', async () => {
    const model = createMockProvider([text("Here.")]);
    const { error, toolCallsExecuted } = await playOver(model, undefined, { planner: () => 7 as never }).result;
    expect(error).toMatchObject({
      code: "no-output",
      message: "The planner returned no valid plan: The plan is 7, but must be an object.",
    });
    expect([toolCallsExecuted, model.calls]).toEqual([0, 0]);
  });

  it("keeps the results of earlier rounds after a failure", async () => {
    const playing = playWith(({ roundIndex }) => {
      if (roundIndex > 0) throw new Error("no idea");
      return { tool_command: { tool_name: "look" } };
    });
    const { reason, functionHistory } = await playing.result;
    expect([reason.kind, functionHistory.map(({ outcome }) => outcome)]).toEqual(["provider-error", ["completed"]]);
  });

  it("has no effect after the run has ended", async () => {
    let answer: (value: PlannerAnswer) => void = () => {};
    const playing = playWith(() => new Promise((resolve) => (answer = resolve)));
    await playing.clock.flush();
    playing.control.kill();
    const before = JSON.stringify(await playing.result);
    answer({ tool_command: { tool_name: "look" } });
    await playing.clock.flush();
    expect([JSON.stringify(await playing.result), playing.recording.types().at(-1)]).toEqual([before, "run-end"]);
  });
});
