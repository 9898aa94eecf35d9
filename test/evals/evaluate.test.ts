import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineAgentTool, defineTool, type LoopEvent, type LoopResult, runToolLoop, streamToolLoop } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { defineEvaluation, evaluate, type EvalOptions, type TrialReport } from "turnwright/evals";
import { readRunLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, fail, stall, text, toolCall, usage } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeFolder } from "../journal/folder.ts";

interface World {
  readonly refunds: number[];
}

/** An agent that refunds an order. In the trials with these numbers, it only says so. */
function refunds(lazyTrials: readonly number[], options: EvalOptions = {}) {
  const asked: string[] = [];
  const evaluation = defineEvaluation({
    name: "support",
    cases: [{ id: "refund", order: 7 }],
    setup: (): World => ({ refunds: [] }),
    run({ order }, trial) {
      asked.push(trial.id);
      const refund = defineTool({
        name: "refund",
        description: "Pays back an order",
        inputSchema: z.object({ order: z.number() }),
        execute({ order: id }) {
          trial.world.refunds.push(id);
          return "paid";
        },
      });
      const spent = usage({ inputTokens: 90, outputTokens: 10 });
      const provider = lazyTrials.includes(trial.number)
        ? createMockProvider([[text("Done."), spent]])
        : createMockProvider([
            [toolCall("refund", { order }), spent],
            [text("Done."), spent],
          ]);
      return runToolLoop(
        trial.options({
          provider,
          tools: [refund],
          messages: [{ role: "user", content: `Refund ${order}` }],
          pricing: () => 0.5,
        }),
      );
    },
    check: (result, world, { case: { order } }) => ({
      refunded: { pass: world.refunds.includes(order), reason: `${world.refunds.length} refunds` },
      polite: { score: 0.5, reason: "no greeting" },
      answered: result.text === "Done.",
    }),
    ...options,
  });
  return { evaluation, asked };
}

const outcomes = (trials: readonly TrialReport[]): readonly string[] => trials.map(({ id, status }) => `${id} ${status}`);

describe("evaluate", () => {
  it("runs each case in a fresh world, and distinguishes hard checks from scores", async () => {
    const { evaluation } = refunds([2], { directory: false });
    const report = await evaluate(evaluation, { trials: 4 });
    const [found] = report.cases;
    expect(report).toMatchObject({ ok: false, ended: "complete", name: "support", trials: 4 });
    expect(found).toMatchObject({
      status: "failed",
      isFlaky: true,
      passed: 3,
      failed: 1,
      errors: 0,
      case: { id: "refund", order: 7 },
    });
    expect(outcomes(found?.trials ?? [])).toEqual(["refund/1 passed", "refund/2 failed", "refund/3 passed", "refund/4 passed"]);
    expect(found?.trials[1]?.checks).toEqual([
      { name: "refunded", pass: false, reason: "0 refunds" },
      { name: "polite", pass: true, score: 0.5, reason: "no greeting" },
      { name: "answered", pass: true },
    ]);
    expect(report.totals).toMatchObject({
      passed: 3,
      failed: 1,
      flaky: ["refund"],
      scores: { polite: 0.5 },
      tokens: 700,
      costUSD: 3.5,
    });
    expect(report.totals.passAt).toEqual([
      { k: 1, any: 0.75, all: 0.75 },
      { k: 2, any: 1, all: 0.5 },
      { k: 3, any: 1, all: 0.25 },
      { k: 4, any: 1, all: 0 },
    ]);
  });

  it("passes a case if enough of its trials pass", async () => {
    const { evaluation } = refunds([2], { directory: false, trials: 4 });
    expect((await evaluate(evaluation, { passRate: 0.75 })).ok).toBe(true);
    expect((await evaluate(evaluation, { passRate: 0.76 })).ok).toBe(false);
  });

  it("keeps only the files of failed trials, and replays them without the model", async () => {
    const directory = makeFolder();
    const { evaluation, asked } = refunds([2], { directory });
    const report = await evaluate(evaluation, { trials: 3 });
    const kept = report.cases[0]?.trials.map((trial) => trial.directory) ?? [];
    expect(kept).toEqual([undefined, join(directory, "support", "cases", "refund", "2"), undefined]);
    expect(existsSync(join(directory, "support", "cases", "refund", "1"))).toBe(false);
    const files = ["log.jsonl", "model.jsonl", "trial.json", "journal"];
    const there = readdirSync(kept[1] ?? "").map((name) => name.replace(/^journal-.+\.jsonl$/, "journal"));
    expect(files.map((name) => there.includes(name))).toEqual([true, true, true, true]);
    expect(JSON.parse(readFileSync(join(directory, "support", "report.json"), "utf8"))).toEqual(
      JSON.parse(JSON.stringify(report)),
    );

    asked.length = 0;
    const broken = { ...evaluation, check: (result: LoopResult) => result.text === "Done." };
    const again = await evaluate(broken, { replay: true });
    expect(asked).toEqual(["refund/2"]);
    expect(again).toMatchObject({ ok: true, trials: 1, totals: { passed: 1 } });
    // The first evaluation stays as it was.
    expect(existsSync(join(kept[1] ?? "", "model.jsonl"))).toBe(true);
  });

  it("continues with the model from a given iteration, in a fresh world", async () => {
    const directory = makeFolder();
    const { evaluation } = refunds([], { directory, keep: "all" });
    await evaluate(evaluation);
    const live = createMockProvider([text("It is paid back.")]);
    const changed = defineEvaluation({
      ...evaluation,
      run: ({ order }, trial) => {
        const refund = defineTool({
          name: "refund",
          description: "Pays back an order",
          inputSchema: z.object({ order: z.number() }),
          execute: ({ order: id }) => void trial.world.refunds.push(id + order),
        });
        const messages = [{ role: "user" as const, content: "Please refund" }];
        return runToolLoop(trial.options({ provider: live, tools: [refund], messages }));
      },
      check: (result, world) => ({ text: result.text === "It is paid back.", refunded: world.refunds[0] === 14 }),
    });
    expect((await evaluate(changed, { replay: { from: 1 } })).cases[0]?.trials[0]).toMatchObject({ status: "passed" });
    expect(live.calls).toBe(1);
    // The request has changed, so it is not played as the same request.
    const strict = await evaluate(changed, { replay: true });
    expect(strict.cases[0]?.trials[0]).toMatchObject({ status: "error" });
    expect(strict.cases[0]?.trials[0]?.error).toContain("does not contain this request");
  });

  it("reports a trial that could not be judged as an error, and runs another one instead", async () => {
    const calls: string[] = [];
    const evaluation = defineEvaluation({
      name: "broken",
      cases: [{ id: "a" }],
      directory: false,
      setup: () => 1,
      run(_item, trial) {
        calls.push(`run ${trial.number}`);
        if (trial.number === 1) throw Object.assign(new Error("no database"), { code: "ECONNREFUSED" });
        const provider = createMockProvider([trial.number === 2 ? fail({ status: 503, message: "Overloaded" }) : text("Yes.")]);
        return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: "?" }] }));
      },
      check: (result) => result.text === "Yes.",
      teardown: () => void calls.push("teardown"),
    });
    const report = await evaluate(evaluation, { trials: 2, limits: { concurrency: 1 } });
    expect(outcomes(report.cases[0]?.trials ?? [])).toEqual(["a/1 error", "a/2 error", "a/3 passed", "a/4 passed"]);
    expect(report.cases[0]).toMatchObject({ status: "passed", passed: 2, errors: 2 });
    expect(report.cases[0]?.trials.slice(0, 2).map(({ error, endings }) => [error, endings])).toEqual([
      ["no database", []],
      ["Overloaded", ["provider-error"]],
    ]);
    expect(report.ok).toBe(false);
    expect(calls.filter((call) => call === "teardown")).toHaveLength(4);
  });

  it.each([
    ["max-cost", { maxCostUSD: 0.9 }],
    ["max-tokens", { maxTokens: 150 }],
  ] as const)("ends with %s, and does not count the trials that it stops", async (ended, limits) => {
    const { evaluation } = refunds([], { directory: false });
    const report = await evaluate(evaluation, { trials: 3, limits: { ...limits, concurrency: 1 } });
    expect(report).toMatchObject({ ended, ok: false, totals: { trials: 0 } });
    expect(report.cases[0]?.status).toBe("undecided");
  });

  it("does not start a trial if the budget is used up", async () => {
    const { evaluation, asked } = refunds([], { directory: false });
    expect(await evaluate(evaluation, { limits: { maxCostUSD: 0 } })).toMatchObject({ ended: "max-cost", ok: false });
    expect(asked).toEqual([]);
  });

  it.each([
    ["is not awaited", true, 'A run has not ended yet. Await it in the function "run", and return its result.'],
    [
      "does not get the trial's options",
      false,
      /^The run .+ does not belong to the trial, .+ Pass its options through trial\.options\.$/,
    ],
  ])("reports an error if a run %s", async (_name, isFloating, message) => {
    const evaluation = defineEvaluation({
      name: "mistakes",
      cases: [{ id: "a" }],
      directory: false,
      run(_item, trial) {
        const options = {
          provider: createMockProvider([isFloating ? stall() : text("Yes.")]),
          messages: [{ role: "user" as const, content: "?" }],
        };
        if (!isFloating) return runToolLoop(options);
        void runToolLoop(trial.options(options));
        return undefined;
      },
      check: () => true,
    });
    const report = await evaluate(evaluation);
    expect(report.cases[0]?.trials[0]).toMatchObject({ status: "error", error: expect.stringMatching(message) });
  });

  it("ends if there is a cost limit and the cost is unknown", async () => {
    const { evaluation } = refunds([], { directory: false });
    const free = defineEvaluation({
      ...evaluation,
      run: (_item, trial) => {
        const provider = createMockProvider([text("Done.")]);
        return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: "?" }] }));
      },
    });
    expect(await evaluate(free, { limits: { maxCostUSD: 1 } })).toMatchObject({ ended: "cost-unknown", ok: false });
  });

  it("stops a trial that takes too long, and leaves no timer behind", async () => {
    const clock = createTestClock();
    const evaluation = defineEvaluation({
      name: "slow",
      cases: [{ id: "a" }],
      directory: false,
      run: (_item, trial) => {
        const messages = [{ role: "user" as const, content: "?" }];
        return runToolLoop(trial.options({ provider: createMockProvider([stall()]), messages, clock }));
      },
      check: () => true,
    });
    const running = evaluate(evaluation, { clock, limits: { trialMs: 1_000 } });
    await clock.advance(3_000);
    await clock.runAll();
    const report = await running;
    expect(report.cases[0]?.trials[0]).toMatchObject({
      status: "error",
      error: "The trial took longer than 1000 ms, and was still in run.",
      endings: ["aborted"],
    });
    expect(clock.pending).toBe(0);
  });

  it("replays a timeout caused by a silent model immediately, with the same error", async () => {
    const clock = createTestClock();
    const directory = makeFolder();
    const evaluation = defineEvaluation({
      name: "silent",
      cases: [{ id: "a" }],
      directory,
      clock,
      run: (_item, trial) => {
        const provider = createMockProvider([[text("Wait"), stall()]]);
        const on = ({ type }: LoopEvent): void => {
          if (type === "text-delta" && !trial.isReplay) void clock.advance(10_000);
        };
        const messages = [{ role: "user" as const, content: "?" }];
        return runToolLoop(trial.options({ provider, messages, clock, middleware: [{ name: "time", on }] }));
      },
      check: () => true,
    });
    const [kept] = (await evaluate(evaluation, { limits: { trialMs: 1_000 } })).cases[0]?.trials ?? [];
    expect(kept).toMatchObject({ status: "error", isTimedOut: true });
    const [replayed] = (await evaluate(evaluation, { replay: true })).cases[0]?.trials ?? [];
    expect(replayed).toMatchObject({ status: "error", isTimedOut: true, error: kept?.error, durationMs: 0, tokens: 0 });
  });

  it.each([
    [undefined, 6_000],
    [200, 1_200],
  ])("waits for a run that ignores its signal, with cleanupMs %s", async (cleanupMs, endsAt) => {
    const clock = createTestClock();
    const evaluation = defineEvaluation({
      name: "deaf",
      cases: [{ id: "a" }],
      directory: false,
      run: () => new Promise<never>(() => {}),
      check: () => true,
    });
    const running = evaluate(evaluation, { clock, limits: { trialMs: 1_000, cleanupMs } });
    await clock.runAll();
    expect((await running).cases[0]?.trials[0]).toMatchObject({ status: "error", durationMs: endsAt });
  });

  it("stops on a signal, and judges a stream's result", async () => {
    const stop = new AbortController();
    const evaluation = defineEvaluation({
      name: "streams",
      cases: [{ id: "a" }, { id: "b" }],
      directory: false,
      limits: { concurrency: 1 },
      run: ({ id }, trial) => {
        const messages = [{ role: "user" as const, content: id }];
        return streamToolLoop(trial.options({ provider: createMockProvider([text(`Hello ${id}`)]), messages }));
      },
      check: (result, _world, trial) => result.text === `Hello ${trial.case.id}`,
    });
    const report = await evaluate(evaluation, { signal: stop.signal, onTrial: () => stop.abort() });
    expect(report).toMatchObject({ ended: "stopped", ok: false });
    expect(report.cases.map(({ status }) => status)).toEqual(["passed", "undecided"]);
  });

  it("records the models of nested runs", async () => {
    const directory = makeFolder();
    const agents = (isLive: boolean) =>
      defineEvaluation({
        name: "agents",
        cases: [{ id: "a" }],
        directory,
        keep: "all" as const,
        run(_item, trial) {
          const script = (parts: Parameters<typeof createMockProvider>[0]) => createMockProvider(isLive ? parts : []);
          const researcher = defineAgentTool({
            name: "research",
            description: "Finds out",
            inputSchema: z.object({}),
            prepare: () => ({ provider: script([text("42")]), messages: [{ role: "user", content: "?" }] }),
          });
          const messages = [{ role: "user" as const, content: "Ask." }];
          const provider = script([toolCall("research", {}), text("It is 42.")]);
          return runToolLoop(trial.options({ provider, tools: [researcher], messages }));
        },
        check: (result) => result.text === "It is 42.",
      });
    expect((await evaluate(agents(true))).ok).toBe(true);
    expect((await evaluate(agents(false), { replay: true })).ok).toBe(true);
  });

  it("gives each run of a conversation a journal and a log", async () => {
    const directory = makeFolder();
    const evaluation = defineEvaluation({
      name: "chats",
      cases: [{ id: "a" }],
      directory,
      keep: "all",
      async run(_item, trial) {
        const provider = createMockProvider([text("Hello."), text("Bye.")]);
        const conversation = createConversation({
          id: "chat",
          store: memoryConversationStore(),
          options: { provider },
          wrapOptions: trial.options,
        });
        await conversation.send("Hi");
        return conversation.send("Bye");
      },
      check: (result) => result.text === "Bye.",
    });
    const report = await evaluate(evaluation);
    expect(report.cases[0]?.trials[0]).toMatchObject({ status: "passed", endings: ["answered", "answered"] });
    const { runs } = await readRunLog(join(report.cases[0]?.trials[0]?.directory ?? "", "log.jsonl"));
    expect(runs).toHaveLength(2);
    expect((await evaluate(evaluation, { replay: true })).ok).toBe(true);
  });

  it.each([
    ["cases", { cases: [] }, /"cases" is .*, but must be a non-empty array of cases/],
    ["ids", { cases: [{ id: "a" }, { id: "a" }] }, /"cases\[1\]\.id" is .*, but must be an id that no other case uses/],
    ["only", { only: ["b"] }, /"only" is .*, but must be one of the evaluation's case ids: refund/],
    ["an empty list of cases", { only: [] }, /"only" is .*, but must be an array with at least one case that can run/],
    [
      "a replay without trials",
      { replay: { directory: "none" } },
      /"replay" is .*, but must be one of the trials kept in none \(none\)/,
    ],
    ["trials", { trials: 0 }, /"evaluation.trials" is .*, but must be a whole number from 1 to 100000/],
    ["an unknown option", { trails: 3 }, /Did you mean "evaluation.trials"/],
  ])("refuses invalid options: %s", async (_name, wrong, message) => {
    const { evaluation } = refunds([], { directory: false });
    await expect(evaluate({ ...evaluation, ...(wrong as object) })).rejects.toThrow(message);
  });

  it.each([
    ["a string as the check result", () => "yes", /The check "check" is .*, but must be a boolean, a score/],
    ["an object without checks", () => ({}), /The function "check" returned an object without checks/],
    ["a score above 1", () => ({ good: 2 }), /The check "good" is 2, but must be a score from 0 to 1/],
  ])("reports %s as an error", async (_name, check, message) => {
    const { evaluation } = refunds([], { directory: false });
    const report = await evaluate({ ...evaluation, check: check });
    expect(report.cases[0]?.trials[0]?.error).toMatch(message);
  });

  it("fails the trial if the checks throw, or a score is below its minimum", async () => {
    const { evaluation } = refunds([], { directory: false });
    const failing = await evaluate({
      ...evaluation,
      check() {
        throw new Error("expected 2 refunds");
      },
    });
    expect(failing.cases[0]?.trials[0]).toMatchObject({
      status: "failed",
      checks: [{ name: "check", pass: false, reason: "expected 2 refunds" }],
    });
    const low = await evaluate({ ...evaluation, check: () => ({ good: { score: 0.4, min: 0.5 } }) });
    expect(low.cases[0]?.status).toBe("failed");
  });
});
