import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runToolLoop } from "turnwright";
import {
  defineEvaluation,
  evaluate,
  type EvalOptions,
  type EvalReport,
  type Evaluation,
  toMarkdownReport,
} from "turnwright/evals";
import { createMockProvider, createTestClock, text, usage } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../journal/folder.ts";

/** An agent whose trials are noted in `asked`. Trials in `broken` have an error. */
function agent(asked: string[], broken: readonly string[] = [], questions = ["hello", "bye"]) {
  return defineEvaluation({
    name: "talk",
    cases: questions.map((question) => ({ id: question.slice(0, 3), question })),
    run({ question }, trial) {
      asked.push(trial.id);
      if (broken.includes(trial.id)) throw new Error("no room");
      const provider = createMockProvider([
        [text(question), usage({ inputTokens: 90, cachedInputTokens: 40, outputTokens: 10 })],
      ]);
      const messages = [{ role: "user", content: question }] as const;
      return runToolLoop(trial.options({ provider, messages, pricing: () => 0.5 }));
    },
    check: (result, _world, { number }) => ({ right: result.text !== "bye" || number !== 2 }),
  });
}

/** Stops the evaluation after so many trials. */
async function stopAfter(ended: number, evaluation: ReturnType<typeof agent>, options: EvalOptions): Promise<EvalReport> {
  const stop = new AbortController();
  return evaluate(evaluation, {
    ...options,
    signal: stop.signal,
    limits: { concurrency: 1 },
    onTrial: (_, progress) => progress.ended === ended && stop.abort(),
  });
}

const withoutTimes = (report: EvalReport): unknown =>
  JSON.parse(JSON.stringify(report, (key, value) => (["startedAt", "durationMs", "resumed"].includes(key) ? undefined : value)));

describe("the `resume` option of evaluate", () => {
  it.for([1, 3, 5])(
    "gives an evaluation stopped after %i trials the same report as an uninterrupted one, without repeating a trial",
    async (ended) => {
      const directory = makeFolder();
      const whole = await evaluate(agent([]), { trials: 3, directory });
      const asked: string[] = [];
      const stopped = await stopAfter(ended, agent(asked), { trials: 3, directory });
      expect([stopped.ended, asked.length]).toEqual(["stopped", ended]);
      const resumed = await evaluate(agent(asked), { trials: 3, directory, resume: true });
      expect([asked.length, new Set(asked).size, resumed.resumed]).toEqual([6, 6, ended]);
      expect(withoutTimes(resumed)).toEqual(withoutTimes(whole));
      expect(toMarkdownReport(resumed)).toContain(ended === 1 ? "1 trial carried over" : `${ended} trials carried over`);
    },
  );

  it("continues after the process was killed during a write", async () => {
    const directory = makeFolder();
    const asked: string[] = [];
    await stopAfter(2, agent(asked), { trials: 2, directory });
    const [file = ""] = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("ended.jsonl"),
    );
    appendFileSync(join(directory, file), '{"of":"12","report":{"id":"hel/2","sta');
    const report = await evaluate(agent(asked), { trials: 2, directory, resume: true });
    expect([report.ended, report.totals.trials, asked.length]).toEqual(["complete", 4, 4]);
    const again = await evaluate(agent(asked), { trials: 2, directory, resume: true });
    expect([again.resumed, asked.length]).toEqual([4, 4]);
  });

  it("adds trials to a complete evaluation, and repeats trials that had an error", async () => {
    const directory = makeFolder();
    const asked: string[] = [];
    await evaluate(agent(asked, ["hel/1", "hel/2", "hel/3"]), { directory });
    asked.length = 0;
    const report = await evaluate(agent(asked), { trials: 2, directory, resume: true });
    expect(asked.sort()).toEqual(["bye/2", "hel/1", "hel/2"]);
    expect(report.totals).toMatchObject({ passed: 3, failed: 1, errors: 0, tokens: 400, inputTokens: 360, cachedTokens: 160 });
  });

  it("reruns trials if their case or the model has changed", async () => {
    const directory = makeFolder();
    const asked: string[] = [];
    await evaluate(agent(asked), { directory });
    await evaluate(agent(asked, [], ["hello!", "bye"]), { directory, resume: true });
    expect(asked.sort()).toEqual(["bye/1", "hel/1", "hel/1"]);
    await evaluate(agent(asked, [], ["hello!", "bye"]), { directory, resume: true, model: "new" });
    expect(asked).toHaveLength(5);
  });

  it("counts the cost of earlier trials toward the limits", async () => {
    const directory = makeFolder();
    const asked: string[] = [];
    await stopAfter(2, agent(asked), { trials: 3, directory });
    const limits = { maxCostUSD: 1.5, concurrency: 1 };
    const report = await evaluate(agent(asked), { trials: 3, directory, resume: true, limits });
    expect([report.ended, report.totals.costUSD, asked.length]).toEqual(["max-cost", 1.5, 3]);
  });

  it("counts the earlier cost of trials that run again", async () => {
    const directory = makeFolder();
    const costly = (check: unknown) => ({ ...agent([]), check: () => check as boolean });
    await evaluate(costly("no check"), { directory });
    const folder = join(directory, "talk", "cases", "bye", "7");
    mkdirSync(folder); // as if the process had been killed during the trial
    const report = await evaluate(costly(true), { directory, resume: true });
    expect([report.resumed, report.totals.passed, existsSync(folder)]).toEqual([0, 2, false]);
    expect(report.totals).toMatchObject({ knownCostUSD: 2, costUSD: undefined });
    expect(toMarkdownReport(report)).toContain("at least $2.00");
    // A third process still counts what the first one spent, and knows as little about the trial that was cut off.
    const again = await evaluate(costly(true), { directory, resume: true });
    expect([again.resumed, again.totals.knownCostUSD, again.totals.costUSD]).toEqual([2, 2, undefined]);
  });

  it("removes the old files of trials that run again", async () => {
    const directory = makeFolder();
    await evaluate(agent([], ["hel/1"]), { directory, trials: 2 });
    const numbers = (): readonly string[] =>
      readdirSync(join(directory, "talk", "cases", "hel")).filter((name) => /^\d/.test(name));
    expect(numbers()).toEqual(["1"]);
    const report = await evaluate(agent([]), { directory, trials: 2, resume: true });
    expect([report.cases[0]?.passed, numbers()]).toEqual([2, []]);
  });

  it("starts the evaluation over if it is not set", async () => {
    const directory = makeFolder();
    const asked: string[] = [];
    await stopAfter(2, agent(asked), { trials: 2, directory });
    const report = await evaluate(agent(asked), { trials: 2, directory });
    expect([report.resumed, asked.length]).toEqual([0, 6]);
  });

  it.for<[line: string]>([
    ["no JSON"],
    ['{"of":"OF","report":{"id":"hel/7","case":"hel","number":7,"status":"passed"}}'],
    ['{"of":"OF","report":{"id":"hel/7","case":"hel","number":"7","status":"passed","checks":[],"endings":[]}}'],
    ['{"of":"OF","report":{"id":"hel/7","case":"hel","number":7,"status":"great","checks":[],"endings":[]}}'],
    ['{"of":"OF","report":{"id":"hel/7","case":"hel","number":7,"status":"failed","checks":[null],"endings":[]}}'],
    ['{"of":"OF","report":{"id":"hel/7","case":"hel","number":7,"status":"passed","checks":[],"endings":[]}}'],
    ['{"of":"OF","report":{WHOLE,"number":0}}'],
    ['{"of":"OF","report":{WHOLE,"tokens":-5}}'],
    ['{"of":"OF","report":{WHOLE,"costUSD":"1"}}'],
    ['{"of":"OF","report":{WHOLE,"durationMs":null}}'],
    ['{"of":"OF","report":{WHOLE,"checks":[{"name":"right"}]}}'],
    ['{"of":"OF","report":{WHOLE}}'],
  ])("skips damaged records, and counts no trial twice: %s", async ([line]) => {
    const directory = makeFolder();
    const asked: string[] = [];
    await stopAfter(1, agent(asked), { trials: 3, directory });
    const file = join(directory, "talk", "cases", "hel", "ended.jsonl");
    const { of, report: first } = JSON.parse(readFileSync(file, "utf8")) as { of: string; report: object };
    appendFileSync(file, `${line.replace("OF", of).replace("WHOLE", JSON.stringify(first).slice(1, -1))}\n`);
    const report = await evaluate(agent(asked), { trials: 3, directory, resume: true });
    expect([report.resumed, asked.length, report.totals.passed]).toEqual([1, 6, 5]);
  });

  it.for<[name: string, options: EvalOptions, cause: RegExp]>([
    ["without files", { directory: false }, /"resume" is true, but must be false because the option "directory" is false/],
    ["for a replay", { replay: true }, /"resume" is true, but must be false because a replay always starts from the beginning/],
  ])("is refused %s", async ([, options, cause]) => {
    const directory = makeFolder();
    await evaluate(agent([]), { directory, keep: "all" });
    await expect(evaluate(agent([]), { directory, resume: true, ...options })).rejects.toThrow(cause);
  });
});

const hang = (): Promise<undefined> => new Promise(() => {});

describe("a trial that takes too long", () => {
  it.for<[step: string, hanging: Partial<Evaluation>]>([
    ["setup", { setup: hang }],
    ["run", { run: hang }],
    ["check", { check: hang }],
    ["teardown", { setup: () => 1, teardown: hang }],
  ])("is reported with the function that did not finish: %s", async ([step, hanging]) => {
    const clock = createTestClock();
    const base: Evaluation = { name: "slow", cases: [{ id: "a" }], run: () => 1, check: () => true };
    const limits = { trialMs: 1000, cleanupMs: 0 };
    const running = evaluate(
      { ...base, ...hanging },
      { clock, directory: false, trials: 3, limits: { ...limits, concurrency: 1 } },
    );
    await clock.advance(5000);
    const { cases } = await running;
    // Another trial would take as long, so there is only one.
    expect(cases[0]?.trials.map(({ error }) => error)).toEqual([`The trial took longer than 1000 ms, and was still in ${step}.`]);
  });
});

it.for([Number.NaN, 2, -0.1])("a minimum score of %d is refused, because no score or every score would reach it", async (min) => {
  const evaluation = defineEvaluation({
    name: "wrong",
    cases: [{ id: "a" }],
    run: () => 1,
    check: () => ({ good: { score: 0.5, min } }),
  });
  const { cases } = await evaluate(evaluation, { directory: false });
  expect(cases[0]?.trials[0]?.error).toBe(`The option "min" of the check "good" is ${min}, but must be a score from 0 to 1.`);
});
