import { describe, expect, it } from "vitest";
import {
  approve,
  limitIdenticalCalls,
  type LoopOptions,
  memoryJournal,
  onIteration,
  processResults,
  type Tool,
  toolResult,
  unwrap,
  eagerTools,
} from "turnwright";
import { type MockScript, text, toolCall, wait } from "turnwright/testing";
import { play, type Playing, tool } from "./play.ts";

const same: MockScript = () => toolCall("look", { a: 1, b: [2, { c: 3 }] });
const middleware = [limitIdenticalCalls()];
const start = (script: MockScript, execute: () => unknown, more: Partial<LoopOptions> = {}): Playing =>
  play(script, { tools: [tool("look", execute), tool("other", () => "other")], middleware, ...more });

it('limitIdenticalCalls ends the run after 10 equal iterations by default, and emits "loop-detected"', async () => {
  const playing = start(same, () => ({ found: ["nothing"] }));
  const result = await playing.result;
  const reason = { kind: "loop-detected", toolName: "look", count: 10 };
  expect([result.status, result.reason, playing.provider.calls, result.toolCallsExecuted]).toEqual(["error", reason, 10, 10]);
  expect(playing.recording.of("loop-detected")).toMatchObject([{ toolName: "look", count: 10, cycle: 1, action: "stop" }]);
  expect(result.messages.at(-1)).toMatchObject({ role: "tool", results: [{ outcome: "completed" }] });
});

describe("limitIdenticalCalls", () => {
  it.for<[limit: number, iterations: number]>([
    [2, 2],
    [25, 25],
    [50, 40],
  ])("with max %d allows %d equal iterations", async ([max, iterations]) => {
    const limits = { maxIterations: 40 };
    const playing = start(same, () => "same", { middleware: [limitIdenticalCalls({ max })], limits });
    const { reason } = await playing.result;
    expect([playing.provider.calls, reason.kind]).toEqual([iterations, iterations === 40 ? "max-iterations" : "loop-detected"]);
  });

  it.for<[what: string, script: MockScript, execute: (count: number) => unknown]>([
    ["a different result", same, (count) => ({ count: Math.floor(count / 9) })],
    ["different content", same, (count) => toolResult({ content: [{ type: "text", text: `${Math.floor(count / 9)}` }] })],
    ["a failed call", same, (count) => (count % 9 === 0 ? toolResult({ success: false }) : "same")],
    ["different arguments", (_, index) => toolCall("look", { page: Math.floor(index / 9) }), () => "same"],
    ["a call to a different tool", (_, index) => toolCall(index % 9 === 0 ? "other" : "look"), () => "same"],
    [
      "an additional call",
      (_, index) => (index % 9 === 0 ? [toolCall("look"), toolCall("other")] : toolCall("look")),
      () => "same",
    ],
    ["a changed call in the same message", (_, index) => [toolCall("look"), toolCall("other", { index })], () => "same"],
  ])("counts from zero again after %s", async ([, script, execute]) => {
    let count = 0;
    const playing = start(script, () => execute((count += 1)), { limits: { maxIterations: 30 } });
    expect((await playing.result).reason.kind).toBe("max-iterations");
  });

  it("counts from zero again after a steered message", async () => {
    const script: MockScript = (_, index) => (index < 15 ? toolCall("look") : text("Done."));
    const playing = play(script, ({ control }) => ({
      tools: [tool("look", () => "same")],
      middleware: [...middleware, onIteration((finished) => void (finished === 8 && control.steer("Go on.")))],
    }));
    expect((await playing.result).reason.kind).toBe("answered");
  });

  let processed = 0;
  it.for<[what: string, more: Partial<LoopOptions>]>([
    ["the order of keys in arguments and results", {}],
    [
      "changes that processResults makes to results",
      { middleware: [...middleware, processResults({ processor: () => String((processed += 1)) })] },
    ],
  ])("ignores %s", async ([, more]) => {
    const script: MockScript = (_, index) => toolCall("look", index % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 });
    let count = 0;
    const give = (): unknown => ((count += 1) % 2 === 0 ? { x: 1, y: 2 } : { y: 2, x: 1 });
    expect((await start(script, give, more).result).reason.kind).toBe("loop-detected");
  });

  const denied: Partial<LoopOptions> = { middleware: [...middleware, approve(() => ({ kind: "deny", reason: "Not today." }))] };
  const unsure: Partial<LoopOptions> = {
    middleware: [...middleware, approve(() => Promise.reject(new Error("The store is away.")))],
  };
  it.for<[what: string, more: Partial<LoopOptions>]>([
    ["denied calls", denied],
    ["calls for which no decision could be made", unsure],
  ])("counts %s", async ([, more]) => {
    const playing = start(same, () => "never", more);
    expect([(await playing.result).reason, playing.provider.calls]).toEqual([
      { kind: "loop-detected", toolName: "look", count: 10 },
      10,
    ]);
  });

  it.for<[what: string, script: MockScript, ending: string, requests: number]>([
    ["identical calls in one message", [Array.from({ length: 10 }, () => toolCall("look"))], "loop-detected", 1],
    ["identical calls in two messages", () => Array.from({ length: 5 }, () => toolCall("look")), "loop-detected", 2],
    ["the most frequent call in a message", () => [toolCall("other"), toolCall("look"), toolCall("look")], "loop-detected", 5],
    [
      "different calls in one message once",
      [Array.from({ length: 30 }, (_, index) => toolCall("look", { index })), text("Done.")],
      "answered",
      2,
    ],
  ])("counts %s", async ([, script, ending, requests]) => {
    const playing = start(script, () => "same", { limits: { toolConcurrency: 30 } });
    expect([(await playing.result).reason.kind, playing.provider.calls]).toEqual([ending, requests]);
  });

  describe("with a tool that polls", () => {
    const poll = tool("look", () => ({ status: "pending" }), { polls: true });
    const waits =
      (turns: number): MockScript =>
      (_, index) =>
        index < turns ? toolCall("look") : text("Done.");

    it("does not count the tool's equal results", async () => {
      const playing = play(waits(40), { tools: [poll], middleware, limits: { maxIterations: 50 } });
      expect((await playing.result).reason.kind).toBe("answered");
    });

    it("still ends the run after maxIterations", async () => {
      const playing = play(waits(40), { tools: [poll], middleware, limits: { maxIterations: 20 } });
      expect((await playing.result).reason.kind).toBe("max-iterations");
    });

    it("still counts calls to a different tool in the same message", async () => {
      const playing = play(() => [toolCall("look"), toolCall("other")], {
        tools: [poll, tool("other", () => "same")],
        middleware,
      });
      expect([(await playing.result).reason, playing.provider.calls]).toEqual([
        { kind: "loop-detected", toolName: "other", count: 10 },
        10,
      ]);
    });

    it('mentions "polls: true" in the error if a tool without it caused the end of the run', async () => {
      const playing = start(same, () => "pending");
      const error = await playing.result.then(unwrap).catch((thrown: unknown) => thrown);
      expect(String(error)).toContain('A tool that waits for a change needs "polls: true"');
    });
  });

  it("does not delay eager tools", async () => {
    const ran: string[] = [];
    const tools: readonly Tool[] = [tool("look", () => void ran.push("look"), { eager: true })];
    const turn = [toolCall("look"), wait(1), text("Wait.")];
    const playing = play(() => turn, { tools, middleware: [eagerTools(), ...middleware] });
    playing.recording.emitter.on("text-delta", () => ran.push("said"));
    await playing.clock.runAll();
    await playing.result;
    expect(ran.slice(0, 2)).toEqual(["look", "said"]);
    expect(ran.filter((what) => what === "look")).toHaveLength(10);
  });

  it("ends a replayed run and a resumed run at the same iteration as the first run", async () => {
    const first = await start(same, () => "same").result;
    const saved = memoryJournal(JSON.parse(JSON.stringify(first.journal))).toJSON();
    const again = start([], () => "unused", { journal: memoryJournal(saved) });
    expect([(await again.result).reason, again.provider.calls]).toEqual([first.reason, 0]);
    const kept = Object.fromEntries(Object.entries(saved.steps).filter(([key]) => key === "run" || /^i[0-6]\//.test(key)));
    const resumed = start(same, () => "same", { journal: memoryJournal({ steps: kept }) });
    expect([(await resumed.result).reason, resumed.provider.calls]).toEqual([first.reason, 3]);
  });

  it("counts an iteration only once if the iteration waited for an approval", async () => {
    const steps: number[] = [];
    let journal = memoryJournal();
    for (;;) {
      const playing = play(same, {
        tools: [tool("look", () => "same", { needsApproval: true })],
        journal,
        runId: "waits",
        answers: steps.length === 0 ? undefined : { [`call_i${steps.length - 1}_0`]: { kind: "approve" } },
        middleware: [limitIdenticalCalls({ max: 3 })],
      });
      const { reason, journal: kept } = await playing.result;
      if (reason.kind !== "approval-required") {
        expect([reason, steps.length]).toEqual([{ kind: "loop-detected", toolName: "look", count: 3 }, 3]);
        return;
      }
      steps.push(playing.provider.calls);
      journal = memoryJournal(JSON.parse(JSON.stringify(kept)));
    }
  });
});
