import { describe, expect, it } from "vitest";
import { type LoopResult, memoryJournal, runToolLoop, type StopCondition, stopWhen } from "turnwright";
import {
  createMockProvider,
  createTestClock,
  type MockScript,
  type MockMessage,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { createDurableStore, Crash } from "./durable-store.ts";
import { never, outcomesOf, play } from "./play.ts";
import { endOf, stopping, tools } from "./stop-when-stage.ts";
import { textsOf } from "./transcript-lines.ts";

describe("a failing stopWhen condition", () => {
  const wrong = 'A stop condition must return true, false, { kind: "continue" } or { kind: "stop" }, but returned ';

  it.for<[how: string, condition: StopCondition, message: string]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "no",
    ],
    ["rejects", () => Promise.reject(new Error("no")), "no"],
    ["returns undefined", () => undefined as never, `${wrong}undefined.`],
    ["resolves to an array", async () => ["stop"] as never, `${wrong}an array of 1 item.`],
    ["returns an unknown kind", () => ({ kind: "halt" }) as never, `${wrong}an object.`],
  ])("ends the run without losing text, usage or calls if the condition %s", async ([, condition, message]) => {
    const script: MockScript = [[text("Look: "), toolCall("echo"), usage({ inputTokens: 9, outputTokens: 1 })]];
    const result = await play(script, stopping([condition, () => true])).result;
    expect(result).toMatchObject({
      status: "error",
      reason: { kind: "hook-failed", hook: "stop-when.request", error: { message } },
      error: { message },
      text: "Look:",
      usage: { totalTokens: 10 },
      pendingCalls: [],
    });
    expect([outcomesOf(result), result.streamResults[0]?.calls.length]).toEqual([["call_i0_0: not-run"], 1]);
  });

  it("ends the run after timeouts.callbackMs if the condition hangs", async () => {
    const playing = play([[text("Look: "), toolCall("echo")]], { ...stopping(() => never), timeouts: { callbackMs: 700 } });
    await playing.clock.runAll();
    const result = await playing.result;
    expect(result).toMatchObject({ text: "Look:", error: { message: "The hook took longer than 700 ms." } });
    expect([playing.endedAt(), playing.clock.pending]).toEqual([700, 0]);
  });
});

describe("a pending stopWhen condition", () => {
  const hanging = (turn: MockMessage) =>
    play([turn], { ...stopping(() => never), timeouts: { callbackMs: 10_000 }, limits: { wallClockMs: 5_000 } });

  it.for<[verb: string, act: (playing: ReturnType<typeof play>) => unknown, call: string, answer: string]>([
    ["a stop", ({ control }) => control.stop(), "stopped", "stopped"],
    ["a kill", ({ control }) => control.kill(), "killed", "killed"],
    ["the signal", ({ abort }) => abort.abort(), "aborted", "aborted"],
    ["the wall clock", ({ clock }) => clock.advance(5_000), "wall-clock", "answered"],
  ])("does not delay the end of a run that %s ends", async ([, act, call, answer]) => {
    const reasons: string[] = [];
    for (const turn of [[text("Look: "), toolCall("echo")], text("Look:")]) {
      const playing = hanging(turn);
      await playing.clock.flush();
      await act(playing);
      const before = playing.clock.now();
      const result = await playing.result;
      reasons.push(result.reason.kind);
      expect([result.text, playing.endedAt(), result.pendingCalls]).toEqual(["Look:", before, []]);
      expect(outcomesOf(result)).toEqual(result.streamResults[0]?.calls.map(({ callId }) => `${callId}: not-run`));
      expect(playing.clock.pending).toBe(0);
    }
    expect(reasons).toEqual([call, answer]);
  });

  it.for<[answer: boolean, reason: string]>([
    [true, "stop-condition"],
    [false, "answered"],
  ])("still counts if its result is %s and control.interrupt() is called in the meantime", async ([answer, reason]) => {
    const playing = play([toolCall("echo"), text("Done.")], ({ clock }) => ({
      tools,
      middleware: [
        stopWhen(({ iteration }) => iteration === 1 && new Promise((resolve) => clock.setTimeout(() => resolve(answer), 50))),
      ],
    }));
    await playing.clock.advance(10);
    playing.control.interrupt("And now?");
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, textsOf(result.undelivered)]).toEqual([reason, ["And now?"]]);
  });

  it("prevents the message's calls from running in a resumed run", async () => {
    const playing = hanging(toolCall("echo"));
    await playing.clock.flush();
    playing.control.kill();
    const { journal } = await playing.result;
    const saved = (): ReturnType<typeof memoryJournal> => memoryJournal(JSON.parse(JSON.stringify(journal)));
    const { runId, messages } = playing.options;
    const options = { runId, messages, tools, middleware: [stopWhen(() => true)] };
    const again = await runToolLoop({ ...options, provider: createMockProvider([]), journal: saved() });
    expect([again.reason.kind, again.toolCallsExecuted]).toEqual(["killed", 0]);
    const provider = createMockProvider([toolCall("final_answer")]);
    const retried = await runToolLoop({ ...options, provider, journal: saved(), resume: "retry-last" });
    expect([retried.reason.kind, retried.pendingCalls.map(({ name }) => name)]).toEqual(["stop-condition", ["final_answer"]]);
  });
});

describe("stopWhen with a journal", () => {
  it("keeps calls from running in a resumed run if the process crashed before the condition returned", async () => {
    const store = createDurableStore();
    const playing = play([toolCall("echo")], { ...stopping(() => never), journal: store.open({ afterRecords: 4 }) });
    await playing.clock.flush();
    playing.control.kill();
    await expect(playing.result).rejects.toBeInstanceOf(Crash);
    const { runId, messages } = playing.options;
    const provider = createMockProvider([]);
    const again = await runToolLoop({ runId, messages, provider, journal: store.open(), ...stopping(() => false) });
    expect([again.reason.kind, outcomesOf(again)]).toEqual(["killed", ["call_i0_0: not-run"]]);
  });

  it.for([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "gives the same result in a run resumed after record %i, and does not call any condition again",
    async (afterRecords) => {
      const store = createDurableStore();
      const asked: number[] = [];
      const run = (fate: object): Promise<LoopResult> =>
        runToolLoop({
          provider: createMockProvider([toolCall("echo"), toolCall("echo"), toolCall("final_answer")].slice(asked.length)),
          tools,
          messages: [{ role: "user", content: "Go." }],
          runId: "durable",
          clock: createTestClock(),
          journal: store.open(fate),
          middleware: [stopWhen(({ iteration }) => asked.push(iteration) === 3 && { kind: "stop", reason: "three" })],
        });
      await run({ afterRecords }).catch((error: unknown) => expect(error).toBeInstanceOf(Crash));
      const result = await run({});
      expect([endOf(result), asked]).toEqual([
        ["completed", { kind: "stop-condition", reason: "three" }, ["call_i2_0"]],
        [1, 2, 3],
      ]);
      const replayed = await run({});
      expect([endOf(replayed), asked.length, replayed.messages]).toEqual([endOf(result), 3, result.messages]);
    },
  );
});
