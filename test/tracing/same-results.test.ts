import { subscribe, unsubscribe } from "node:diagnostics_channel";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { iterationChannel, runChannel, toolChannel, diagnostics, tracing } from "turnwright/observe";
import { recordEvents } from "turnwright/testing";
import { plans } from "../loop/random-run.ts";
import { runPlan } from "../loop/run-plan.ts";
import { scenarios } from "../loop/scenarios/all.ts";
import { type Scenario, setUp } from "../loop/scenarios/scenario.ts";
import { setUpTracing, type TracingStage } from "./stage.ts";
import { addWatchers } from "../add-watchers.ts";

let open = 0;
const begin = (): void => void (open += 1);
const end = (): void => void (open -= 1);
const channels = [runChannel, iterationChannel, toolChannel];

beforeAll(() => {
  for (const name of channels) subscribe(`tracing:${name}:start`, begin);
  for (const name of channels) subscribe(`tracing:${name}:asyncEnd`, end);
});
afterAll(() => {
  for (const name of channels) unsubscribe(`tracing:${name}:start`, begin);
  for (const name of channels) unsubscribe(`tracing:${name}:asyncEnd`, end);
});

type Watch = (options: LoopOptions) => LoopOptions;

interface Played {
  readonly result: object;
  readonly outline: string;
}

async function playScenario(scenario: Scenario, watch: Watch): Promise<Played> {
  const { options, stage } = setUp(scenario);
  const recording = recordEvents();
  const running = runToolLoop(watch({ ...options, events: recording.emitter }));
  await scenario.meanwhile?.(stage);
  return { result: comparable(await running), outline: recording.outline() };
}

function comparable({ journal: _, ...rest }: LoopResult): object {
  return JSON.parse(JSON.stringify(rest)) as object;
}

function checkSpans(stage: TracingStage): void {
  expect(stage.spans()).toHaveLength(stage.started());
  expect(stage.spans().filter(({ name }) => name === "invoke_agent")).toHaveLength(1);
  expect(open).toBe(0);
}

describe("tracing and diagnostics", () => {
  it.for(scenarios.map((scenario) => [scenario.title, scenario] as const))(
    'do not change the result or the events of the scenario "%s"',
    async ([, scenario]) => {
      const plain = await playScenario(scenario, (options) => options);
      const stage = setUpTracing({ captureContent: true });
      const traced = await playScenario(scenario, (options) =>
        addWatchers(addWatchers(options, tracing(stage.options)), diagnostics()),
      );
      expect(traced).toEqual(plain);
      checkSpans(stage);
    },
  );

  it("do not change the result of random runs", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const plain = await runPlan(plan);
        const stage = setUpTracing({ captureContent: true });
        const { result } = await runPlan(plan, (options) =>
          addWatchers(addWatchers(options, tracing(stage.options)), diagnostics()),
        );
        expect(comparable(result)).toEqual(comparable(plain.result));
        checkSpans(stage);
      }),
      { numRuns: 40 },
    );
  });
});
