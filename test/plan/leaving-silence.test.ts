import { describe, expect, it } from "vitest";
import { type ModelChunk, withFallback, withRetry } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { createMockProvider, fail, heartbeat, type MockMessage, reasoning, stall, text, usage, wait } from "turnwright/testing";
import { createHoldClock } from "../loop/hold-clock.ts";
import { playOver } from "./leaving-stage.ts";
import { command, execute, respond } from "./plan-stage.ts";

const timeouts = { firstChunkMs: 3_000, streamIdleMs: 1_000, toolCleanupMs: 500 };

const slowly = (ms: number, ...pieces: readonly string[]): MockMessage =>
  pieces.flatMap((piece, index) => (index === 0 ? [text(piece)] : [wait(ms), text(piece)]));

const planPieces = ['{"next_', "action", '":"exec', 'ute","tool_', 'command":{', '"tool_name":"look"', "}}"];
const tokens = usage({ inputTokens: 1, outputTokens: 1 });

interface Ended {
  readonly kind: string;
  readonly at: number | undefined;
}

async function run(turns: readonly MockMessage[]): Promise<Ended> {
  const model = createMockProvider(turns);
  const playing = playOver(model, () => ({ timeouts }));
  await playing.clock.runAll();
  const { reason } = await playing.result;
  expect([playing.clock.pending, model.active]).toEqual([0, 0]);
  return { kind: reason.kind, at: playing.endedAt() };
}

describe("withPlanner: plan timeouts", () => {
  it("do not end a plan that streams slowly", async () => {
    expect(await run([slowly(900, ...planPieces), respond, text("Done.")])).toEqual({ kind: "answered", at: 6 * 900 });
  });

  it.for<[what: string, turn: MockMessage, ended: Ended]>([
    [
      "accept a first chunk that arrives just before firstChunkMs has passed",
      [wait(2_900), respond],
      { kind: "answered", at: 2_900 },
    ],
    ["end a plan after firstChunkMs if no chunk arrives", stall(), { kind: "first-chunk", at: 3_000 }],
    [
      "end a plan after streamIdleMs if its stream goes silent in the middle of the plan",
      [text("{"), stall()],
      { kind: "stream-idle", at: 1_000 },
    ],
    [
      "end a plan after streamIdleMs if its stream goes silent after other text",
      [text("Let me see."), wait(900), text("{"), stall()],
      { kind: "stream-idle", at: 1_900 },
    ],
    [
      "end a plan after streamIdleMs if its stream goes silent after the reasoning",
      [reasoning("Hm."), wait(900), text("{"), stall()],
      { kind: "stream-idle", at: 1_900 },
    ],
    ["end a plan after firstChunkMs if only a usage chunk arrives", [tokens, stall()], { kind: "first-chunk", at: 3_000 }],
    ["restart at a heartbeat", [wait(2_000), heartbeat(), wait(2_000), respond], { kind: "answered", at: 4_000 }],
  ])("%s", async ([, turn, ended]) => {
    expect(await run([turn, text("Done.")])).toEqual(ended);
  });

  it("start again for each repeated plan request", async () => {
    const turns = [text("No plan."), [wait(2_900), text("None.")], [wait(2_900), respond], text("Done.")];
    expect(await run(turns)).toEqual({ kind: "answered", at: 5_800 });
    expect(await run([text("No plan."), stall()])).toEqual({ kind: "first-chunk", at: 3_000 });
  });

  it("start again in each round", async () => {
    const turns = [execute(command("look")), [wait(2_900), respond], [wait(2_900), text("Done.")]];
    expect(await run(turns)).toEqual({ kind: "answered", at: 5_800 });
  });
});

describe("withPlanner: answer timeouts", () => {
  it.for<[what: string, turn: MockMessage, ended: Ended]>([
    ["start again after the plan", [wait(2_900), text("Done.")], { kind: "answered", at: 2_900 + 2_900 }],
    ["end an answer after firstChunkMs if no chunk arrives", stall(), { kind: "first-chunk", at: 2_900 + 3_000 }],
    [
      "end an answer after streamIdleMs if its stream goes silent in the middle of the answer",
      [text("Do"), stall()],
      { kind: "stream-idle", at: 2_900 + 1_000 },
    ],
  ])("%s", async ([, turn, ended]) => {
    expect(await run([[wait(2_900), respond], turn])).toEqual(ended);
  });

  it.for<[what: string, wrap: (turns: readonly MockMessage[]) => ReturnType<typeof withPlanner>]>([
    ["if the inner provider is withRetry", (turns) => withPlanner(withRetry(createMockProvider(turns)))],
    [
      "if the inner provider is withFallback",
      (turns) => withPlanner(withFallback([createMockProvider(() => fail({})), createMockProvider(turns)])),
    ],
  ])("start again after the plan %s", async ([, wrap]) => {
    const turns = [
      [wait(2_900), respond],
      [wait(2_900), text("Done.")],
    ];
    const playing = playOver(wrap(turns), () => ({ timeouts }), { enabled: false });
    await playing.clock.runAll();
    expect([(await playing.result).reason.kind, playing.endedAt()]).toEqual(["answered", 5_800]);
  });
});

it("withPlanner: emits no text-delta and no reasoning-delta for a plan's text", async () => {
  const playing = playOver(createMockProvider([slowly(1, ...planPieces), respond, text("Done.")]));
  await playing.clock.runAll();
  await playing.result;
  expect(playing.recording.of("text-delta").map(({ text: said }) => said)).toEqual(["Done."]);
  expect(playing.recording.of("reasoning-delta")).toEqual([]);
});

it("withPlanner: limits.wallClockMs ends a plan that never stops streaming", async () => {
  const clock = createHoldClock();
  let written = 0;
  const playing = playOver(
    {
      id: "p",
      model: "m",
      async *stream(): AsyncGenerator<ModelChunk, void, undefined> {
        for (; written < 20_000; written += 1) {
          clock.hold(1);
          yield { type: "text-delta", text: "x" };
        }
      },
    },
    () => ({ clock, limits: { wallClockMs: 1_000 }, timeouts: { toolCleanupMs: 0 } }),
  );
  await clock.runAll();
  expect((await playing.result).reason.kind).toBe("wall-clock");
  expect(written).toBeLessThan(1_100);
});
