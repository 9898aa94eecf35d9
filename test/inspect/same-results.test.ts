import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  defineAgentTool,
  defineTool,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  streamToolLoop,
  structuredOutput,
  withFallback,
  withRetry,
} from "turnwright";
import { journalToRunLog, parseRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, fail, type MockScript, recordEvents, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { plans } from "../loop/random-run.ts";
import { comparable, runPlan } from "../loop/run-plan.ts";
import { scenarios } from "../loop/scenarios/all.ts";
import { type Scenario, setUp } from "../loop/scenarios/scenario.ts";
import { deepFactsOf } from "./compare-logs.ts";
import { problemsOf } from "./line-problems.ts";
import { addWatchers } from "../add-watchers.ts";

type Wrap = (options: LoopOptions) => LoopOptions;

interface Played {
  readonly result: object;
  readonly outline: string;
  readonly events: readonly object[];
}

const asPlain = ({ journal: _, ...rest }: LoopResult): object => JSON.parse(JSON.stringify(rest)) as object;

async function playScenario(scenario: Scenario, wrap: Wrap): Promise<Played> {
  const { options, stage } = setUp(scenario);
  const recording = recordEvents();
  const running = runToolLoop(wrap({ ...options, events: recording.emitter }));
  await scenario.meanwhile?.(stage);
  return { result: asPlain(await running), outline: recording.outline(), events: JSON.parse(JSON.stringify(recording.events)) };
}

function createLog(): { readonly wrap: Wrap; text(): string } {
  const lines: string[] = [];
  return {
    wrap: (options) => addWatchers(options, runLog({ to: { write: (line) => lines.push(line) } })),
    text: () => lines.join(""),
  };
}

describe("runLog", () => {
  it.for(scenarios.map((scenario) => [scenario.title, scenario] as const))(
    'does not change the result of the scenario "%s"',
    async ([, scenario]) => {
      const plain = await playScenario(scenario, (options) => options);
      const log = createLog();
      const journal = memoryJournal();
      expect(await playScenario(scenario, (options) => log.wrap({ ...options, journal }))).toEqual(plain);
      for (const line of log.text().split("\n").slice(0, -1)) expect([line, await problemsOf(line)]).toEqual([line, []]);
      const { runs } = parseRunLog(log.text());
      expect(parseRunLog(await journalToRunLog(journal)).runs.map(deepFactsOf)).toEqual(runs.map(deepFactsOf));
      const [run, ...others] = runs;
      expect(others).toEqual([]);
      expect(run).toMatchObject({ runId: "r", status: scenario.status, reason: { kind: scenario.reason } });
    },
  );

  it("does not change the result of random runs", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const plain = await runPlan(plan);
        const log = createLog();
        const { result } = await runPlan(plan, log.wrap);
        expect(comparable(result)).toEqual(comparable(plain.result));
        const [run] = parseRunLog(log.text()).runs;
        expect(run?.reason).toEqual(JSON.parse(JSON.stringify(result.reason)));
        expect(run?.usage).toEqual(result.usage);
        const { streamResults } = result;
        // Each continuation, and each repeated stream, has an entry of its own.
        expect(run?.iterations.map(({ output }) => output?.text ?? "").join("")).toBe(
          streamResults.map((each) => each.text).join(""),
        );
      }),
      { numRuns: 40 },
    );
  });

  const lookUp = defineTool({
    name: "look_up",
    description: "Looks an order up",
    inputSchema: { type: "object" },
    execute: () => "shipped",
  });
  const agent = defineAgentTool({
    name: "expert",
    description: "Asks an expert",
    inputSchema: { type: "object" },
    prepare: () => ({
      messages: [{ role: "user", content: "Look." }],
      tools: [lookUp],
      provider: createMockProvider([toolCall("look_up"), text("It has shipped.")]),
    }),
  });
  const restart = defineTool({
    name: "more",
    description: "Brings context",
    inputSchema: { type: "object" },
    execute: () => contextRestart({ type: "context_restart_more", enhanced_context_item: { fact: 1 } }),
  });
  const busy = fail({ status: 529, message: "Overloaded" });

  const setups: readonly (readonly [what: string, create: () => Partial<LoopOptions> & { readonly script?: MockScript }])[] = [
    ["a nested agent", () => ({ tools: [agent], script: [toolCall("expert"), text("Done.")] })],
    ["a context restart", () => ({ tools: [restart, lookUp], script: [toolCall("more"), text("Done.")] })],
    [
      "an approval",
      () => ({
        tools: [lookUp],
        middleware: [approve(() => ({ kind: "deny", reason: "No." }))],
        script: [toolCall("look_up"), text("Done.")],
      }),
    ],
    ["an approval that is missing", () => ({ tools: [{ ...lookUp, needsApproval: true }], script: [toolCall("look_up")] })],
    [
      "a structured answer",
      () => ({
        middleware: [structuredOutput(z.object({ ok: z.boolean() }))],
        script: [text("no"), text('{"ok":true}')],
      }),
    ],
    [
      "withRetry",
      () => ({ provider: withRetry(createMockProvider([busy, text("Done.")]), { random: () => 0, baseDelayMs: 0 }) }),
    ],
    [
      "withFallback",
      () => ({
        provider: withFallback([createMockProvider([[text("Half"), busy]]), createMockProvider([text("Done.")], { model: "b" })]),
      }),
    ],
  ];

  it.for(setups)("does not change the result or the events of a run with %s", async ([, create]) => {
    const play = async (wrap: Wrap): Promise<Played> => {
      const { script = [], ...more } = create();
      const recording = recordEvents();
      const provider = createMockProvider(script);
      const base = { provider, messages: [{ role: "user", content: "Go." }], runId: "r", clock: createTestClock() } as const;
      const result = await runToolLoop(wrap({ ...base, events: recording.emitter, ...more }));
      return { result: asPlain(result), outline: recording.outline(), events: JSON.parse(JSON.stringify(recording.events)) };
    };
    const plain = await play((options) => options);
    const log = createLog();
    expect(await play(log.wrap)).toEqual(plain);
    expect(parseRunLog(log.text()).runs).toHaveLength(1);
  });

  it("does not change the result or the events of a resumed run", async () => {
    const options: LoopOptions = {
      provider: createMockProvider(({ iteration }) => (iteration < 2 ? toolCall("look_up") : text("Done."))),
      tools: [lookUp],
      messages: [{ role: "user", content: "Go." }],
      runId: "r",
      clock: createTestClock(),
    };
    const { journal } = await runToolLoop({ ...options, limits: { maxIterations: 2 } });
    const saved = JSON.stringify(journal);
    const play = async (wrap: Wrap): Promise<Played> => {
      const recording = recordEvents();
      const result = await runToolLoop(
        wrap({ ...options, journal: memoryJournal(JSON.parse(saved)), events: recording.emitter }),
      );
      return { result: asPlain(result), outline: recording.outline(), events: JSON.parse(JSON.stringify(recording.events)) };
    };
    const log = createLog();
    expect(await play(log.wrap)).toEqual(await play((own) => own));
    const [run] = parseRunLog(log.text()).runs;
    expect(
      run?.iterations.map(({ isReplayed, output, calls }) => [isReplayed, output?.text, calls.map(({ result }) => result)]),
    ).toEqual([
      [true, "", ["shipped"]],
      [true, "", ["shipped"]],
      [false, "Done.", []],
    ]);
  });

  it("does not change the events of a stream whose reader stops early", async () => {
    const log = createLog();
    const stream = streamToolLoop(
      log.wrap({
        provider: createMockProvider([text("A long answer.", { chunks: 10 })]),
        messages: [{ role: "user", content: "Go." }],
      }),
    );
    const types: string[] = [];
    for await (const { type } of stream) {
      types.push(type);
      if (type === "text-delta") break;
    }
    expect(types).toEqual(["run-start", "iteration-start", "text-delta"]);
    await stream.result;
    expect(parseRunLog(log.text()).runs[0]?.endedAt).toBeDefined();
  });
});
