import { diag, DiagLogLevel, type Span, type Tracer } from "@opentelemetry/api";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runNested, runToolLoop } from "turnwright";
import { tracing } from "turnwright/observe";
import type { TracingOptions } from "../../src/observe/tracing/tracing-options.ts";
import { createMockProvider, recordEvents, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { setUpTracing, type TracingStage } from "./stage.ts";
import { question } from "./trace.ts";
import { addWatchers } from "../add-watchers.ts";

const told: string[] = [];
const ignore = (): void => {};
beforeEach(() => {
  told.length = 0;
  const error = (...said: readonly unknown[]): void => void told.push(said.join(": "));
  diag.setLogger({ error, warn: ignore, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.ERROR);
});
afterEach(() => diag.disable());

const broken = (): never => {
  throw new Error("broken");
};

/** The tracer throws if `method` is called for the span with the index `broke`. */
function faulty(stage: TracingStage, method: "startSpan" | Exclude<keyof Span, "spanContext">, broke: number): Tracer {
  const tracer = stage.provider.getTracer("faulty");
  let spans = 0;
  return {
    startActiveSpan: broken,
    startSpan(...given) {
      const isBroken = spans === broke;
      spans += 1;
      if (method === "startSpan" && isBroken) throw new Error("broken");
      const span = tracer.startSpan(...given);
      return method === "startSpan" || !isBroken ? span : Object.assign(span, { [method]: broken });
    },
  };
}

describe("tracing with a faulty tracer or meter", () => {
  it.for(
    (["startSpan", "setAttributes", "end"] as const).flatMap((method) => [0, 1, 2, 3].map((broke) => [method, broke] as const)),
  )("records the other spans if %s() throws for span %i", async ([method, broke]) => {
    const stage = setUpTracing();
    const recording = recordEvents();
    const { status } = await runToolLoop(
      addWatchers(
        {
          provider: createMockProvider([toolCall("look"), text("So.")]),
          tools: [tool("look", () => 1)],
          messages: question,
          events: recording.emitter,
        },
        tracing({ ...stage.options, tracer: faulty(stage, method, broke), captureContent: true }),
      ),
    );
    expect(status).toBe("completed");
    expect(recording.of("listener-error")).toEqual([]);
    // The tracer threw for one of the four spans. That span never started, never ended, or has no attributes.
    expect(stage.spans()).toHaveLength(method === "setAttributes" ? 4 : 3);
    expect(new Set(told)).toEqual(new Set(["turnwright could not record a run: broken"]));
  });

  it("puts a nested run's span below the outer run's span if the call's span is missing", async () => {
    const stage = setUpTracing();
    const research = tool("research", (_, context) =>
      runNested(context, { provider: createMockProvider([text("In.")]), messages: question }).then((result) => result.text),
    );
    const options = { provider: createMockProvider([toolCall("research"), text("So.")]), tools: [research], messages: question };
    await runToolLoop(addWatchers(options, tracing({ ...stage.options, tracer: faulty(stage, "startSpan", 2) })));
    expect(`\n${stage.tree()}\n`).toBe(`
invoke_agent
  chat mock-model
  invoke_agent research
    chat mock-model
  chat mock-model
`);
  });

  it("records the spans if histograms and counters throw", async () => {
    const stage = setUpTracing();
    const meter = new MeterProvider().getMeter("faulty");
    const createHistogram: typeof meter.createHistogram = () => ({ record: broken });
    const createCounter: typeof meter.createCounter = () => ({ add: broken });
    const faultyMeter = Object.assign(meter, { createHistogram, createCounter });
    const recording = recordEvents();
    const options = { provider: createMockProvider([text("So.")]), messages: question, events: recording.emitter };
    const { status } = await runToolLoop(addWatchers(options, tracing({ ...stage.options, meter: faultyMeter })));
    expect([status, stage.spans().length, recording.of("listener-error")]).toEqual(["completed", 2, []]);
    // Seven measurements fail: three durations, two histograms of tokens and two counters.
    expect(told).toEqual(Array.from({ length: 7 }, () => "turnwright could not record a run: broken"));
  });

  it.for<[what: string, given: TracingOptions]>([
    ["createHistogram", { meter: Object.assign(new MeterProvider().getMeter("faulty"), { createHistogram: broken }) }],
    ["createCounter", { meter: Object.assign(new MeterProvider().getMeter("faulty"), { createCounter: broken }) }],
    ["getMeter", { meterProvider: { getMeter: broken } }],
  ])("records the spans if %s throws", async ([, given]) => {
    const stage = setUpTracing();
    const recording = recordEvents();
    const options = { provider: createMockProvider([text("So.")]), messages: question, events: recording.emitter };
    const { status } = await runToolLoop(addWatchers(options, tracing({ ...stage.options, meter: undefined, ...given })));
    expect([status, stage.spans().length, recording.of("listener-error")]).toEqual(["completed", 2, []]);
    expect(new Set(told)).toEqual(new Set(["turnwright could not record a run: broken"]));
  });

  it("leaves the run unaffected if getTracer throws", async () => {
    const recording = recordEvents();
    const options = { provider: createMockProvider([text("So.")]), messages: question, events: recording.emitter };
    const { status } = await runToolLoop(addWatchers(options, tracing({ tracerProvider: { getTracer: broken } })));
    expect([status, recording.of("listener-error")]).toEqual(["completed", []]);
    expect(told).toEqual(["turnwright could not record a run: broken"]);
  });
});
