import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runToolLoop } from "turnwright";
import { createJudge, defineEvaluation, evaluate, type TrialReport } from "turnwright/evals";
import { createMockProvider, createTestClock, fail, stall, text } from "turnwright/testing";
import { describe, expect, it, vi } from "vitest";
import { makeFolder } from "../journal/folder.ts";

const statuses = (trials: readonly TrialReport[] = []): readonly string[] => trials.map(({ status }) => status);

describe("errors from trials", () => {
  it.for([
    ["a wrong key", "run", fail({ status: 401, message: "Wrong key" }), 1],
    ["a busy service", "run", fail({ status: 529, message: "Busy" }), 5],
    ["a setup that throws", "setup", new Error("no database"), 1],
    ["a connection that was reset", "setup", Object.assign(new Error("reset"), { code: "ECONNRESET" }), 5],
  ] as const)("are retried only if a retry may help: %s", async ([, place, problem, count]) => {
    const evaluation = defineEvaluation({
      name: "errors",
      cases: [{ id: "a" }],
      directory: false,
      limits: { concurrency: 1 },
      setup() {
        if (place === "setup") throw problem;
      },
      run(_item, trial) {
        const provider = createMockProvider([problem as ReturnType<typeof fail>]);
        return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: "?" }] }));
      },
      check: (result) => result.text !== "",
    });
    const [found] = (await evaluate(evaluation, { trials: 3 })).cases;
    expect(found?.status).toBe("error");
    expect(statuses(found?.trials)).toEqual(Array.from({ length: count }, () => "error"));
  });

  it.for([
    ["a wrong key", fail({ status: 401, message: "Wrong key" })],
    ["a model that does not exist", fail({ status: 404, message: "No such model" })],
    ["a busy service", fail({ status: 503, message: "Busy" })],
    ["a stream that breaks", fail({ code: "stream-ended-early", message: "Cut" })],
    ["a service that sends nothing", stall()],
  ] as const)("fail an evaluation even if its checks would pass for an agent that does nothing: %s", async ([, problem]) => {
    const clock = createTestClock();
    const judged: string[] = [];
    const evaluation = defineEvaluation({
      name: "idle",
      cases: [{ id: "a" }],
      directory: false,
      clock,
      run: (_item, trial) =>
        runToolLoop(
          trial.options({ provider: createMockProvider([problem]), messages: [{ role: "user", content: "?" }], clock }),
        ),
      async check(result, _world, trial) {
        judged.push(trial.id);
        const judge = createJudge({
          provider: createMockProvider([text('{"reason":"r","grade":5}')]),
          criterion: "It is short.",
        });
        return { paidNothing: result.calls.length === 0, short: 1, good: await judge.score(result.text, trial) };
      },
    });
    const running = evaluate(evaluation);
    await clock.advance(1_000_000);
    const report = await running;
    expect([report.ok, report.totals.passed, report.totals.scores, judged]).toEqual([false, 0, {}, []]);
    expect(new Set(statuses(report.cases[0]?.trials))).toEqual(new Set(["error"]));
  });

  it("are left to the checks if a service caused them and checkOutages is true", async () => {
    const evaluation = defineEvaluation({
      name: "faults",
      cases: [{ id: "busy" }, { id: "calm" }],
      directory: false,
      checkOutages: true,
      run: ({ id }, trial) =>
        runToolLoop(
          trial.options({
            provider: createMockProvider([id === "busy" ? fail({ code: "overloaded" }) : text("Yes.")]),
            messages: [{ role: "user", content: "?" }],
          }),
        ),
      check: ({ status }, _world, { case: { id } }) => ({ told: (status === "error") === (id === "busy") }),
    });
    const report = await evaluate(evaluation);
    expect([report.ok, report.totals.passed, report.totals.errors]).toEqual([true, 2, 0]);
  });

  it("exclude a trial's score from the mean if its teardown failed", async () => {
    const evaluation = defineEvaluation({
      name: "scores",
      cases: [{ id: "a" }, { id: "b" }],
      directory: false,
      setup: ({ id }) => id,
      run: () => 1,
      check: (_result, world) => ({ right: true, short: world === "a" ? 0 : 1 }),
      teardown(world) {
        if (world === "a") throw new Error("stuck");
      },
    });
    const { totals } = await evaluate(evaluation);
    expect([totals.passed, totals.failed, totals.scores]).toEqual([1, 0, { short: 1 }]);
  });

  it("do not stop a case that has a verdict, even if they persist", async () => {
    const evaluation = defineEvaluation({
      name: "errors",
      cases: [{ id: "a" }],
      directory: false,
      limits: { concurrency: 1 },
      run(_item, { number }) {
        if (number === 2) throw new Error("a bug");
      },
      check: () => true,
    });
    expect(statuses((await evaluate(evaluation, { trials: 3 })).cases[0]?.trials)).toEqual(["passed", "error", "passed"]);
  });
});

it("evaluate: runs with the same ids can run at the same time in one process", async () => {
  const evaluation = defineEvaluation({
    name: "twins",
    cases: [{ id: "a" }],
    directory: false,
    run: (_item, trial) =>
      runToolLoop(trial.options({ provider: createMockProvider([text("Yes.")]), messages: [{ role: "user", content: "?" }] })),
    check: (result) => result.text === "Yes.",
  });
  const reports = await Promise.all([evaluate(evaluation), evaluate(evaluation), evaluate(evaluation)]);
  expect(reports.map(({ totals }) => [totals.passed, totals.errors])).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
  ]);
});

it("evaluate: reports a judge without a verdict as an error, even if the judge comes from another copy of the package", async () => {
  vi.resetModules();
  // A program in CommonJS has such a copy, because the command line has its own.
  const other = await import("turnwright/evals");
  const evaluation = defineEvaluation({
    name: "copies",
    cases: [{ id: "a" }],
    directory: false,
    run: () => 1,
    async check(_result, _world, trial) {
      const provider = createMockProvider([text("Five of five!")]);
      const judge = other.createJudge({ provider, criterion: "It answers." });
      return { right: true, good: await judge.score("Yes.", trial) };
    },
  });
  expect(other.createJudge).not.toBe(createJudge);
  const { status, error } = (await evaluate(evaluation)).cases[0]?.trials[0] ?? {};
  expect([status, error]).toEqual(["error", expect.stringContaining("The judge gave no verdict")]);
});

describe("the replay of a trial", () => {
  const answering = (directory: string, system: string, { iterations = 1 } = {}) =>
    defineEvaluation({
      name: "asked",
      cases: [{ id: "a" }],
      directory,
      keep: "all",
      run(_item, trial) {
        const provider = createMockProvider([text("Yes.")]);
        return runToolLoop(
          trial.options({
            provider,
            system,
            messages: [{ role: "user", content: "Is it paid?" }],
            limits: { maxIterations: iterations },
          }),
        );
      },
      check: async (result, _world, trial) => {
        const judge = createJudge({
          provider: createMockProvider([text('{"reason":"r","grade":5}')]),
          criterion: "It answers.",
        });
        return { answered: result.text !== "", good: await judge.score(result.text, trial) };
      },
    });

  it("reports that the request differs, and does not blame the judge", async () => {
    const directory = makeFolder();
    await evaluate(answering(directory, "Be brief."));
    const { error, status, checks } =
      (await evaluate(answering(directory, "Be long."), { replay: true })).cases[0]?.trials[0] ?? {};
    expect([status, checks]).toEqual(["error", []]);
    expect(error).toMatch(/^The replay cannot continue: the request of iteration 0 differs from the recorded one, .* a prompt/);
    // The advice comes first, because a terminal shows only the beginning.
    expect(error).toMatch(/ Evaluate the case again, or continue with the model with --from i0 \(.* "system" is different\.$/);
    expect(error).not.toMatch(/judge gave|Record the run again/);
  });

  it("fails if it starts at an iteration beyond the end, and states the number of iterations", async () => {
    const directory = makeFolder();
    await evaluate(answering(directory, "Be brief."));
    const report = await evaluate(answering(directory, "Be brief."), { replay: { from: 7 } });
    expect(report.cases[0]?.trials[0]).toMatchObject({
      status: "error",
      error:
        "The run has ended before iteration 7: it has 1 iteration, counted from 0. Use at most --from i0 (the option replay.from).",
    });
  });
});

describe("a trial's files", () => {
  it("do not contain an absolute path, and support the longest id", async () => {
    const directory = makeFolder();
    const id = "case ".repeat(60);
    const evaluation = defineEvaluation({
      name: "long",
      cases: [{ id }],
      directory,
      run: (_item, trial) =>
        runToolLoop(
          trial.options({ provider: createMockProvider([text("Yes.")]), messages: [{ role: "user", content: "Paid?" }] }),
        ),
      check: () => false,
    });
    const [trial] = (await evaluate(evaluation)).cases[0]?.trials ?? [];
    expect(trial).toMatchObject({ status: "failed", question: "Paid?", answer: "Yes." });
    const kept = readFileSync(join(trial?.directory ?? "", "trial.json"), "utf8");
    expect(JSON.parse(kept)).toMatchObject({ id: `${id}/1`, status: "failed" });
    expect(kept).not.toContain(directory);
    expect((await evaluate(evaluation, { replay: true })).cases[0]?.trials[0]).toMatchObject({ status: "failed", tokens: 0 });
  });
});
