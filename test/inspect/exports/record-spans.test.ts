import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  defer,
  defineAgentTool,
  defineTool,
  detectLoops,
  type LoopOptions,
  memoryJournal,
  runToolLoop,
  type Tool,
  type ToolContext,
  withFallback,
  withRetry,
  runNested,
} from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { parseRunLog } from "turnwright/inspect";
import { recordSpans } from "turnwright/observe";
import { createMockProvider, fail, reasoning, text, toolCall, usage, wait } from "turnwright/testing";
import { clock, logRun, optionsFor } from "../log-run.ts";
import { keepContexts, setUpTracing } from "../../tracing/stage.ts";
import { plainSpans, runTwice, timesOf, traceTwice } from "./same-spans.ts";

const inputSchema = { type: "object" } as const;
const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
const tool = (name: string, execute: (args: unknown, context: ToolContext) => unknown, more: object = {}): Tool =>
  defineTool({ name, description: `The tool ${name}.`, inputSchema, execute, ...more });

const tokens = usage({ inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, cacheWriteTokens: 10, reasoningTokens: 5 });
const inner = defineAgentTool({
  name: "ask_expert",
  description: "Asks an expert.",
  inputSchema,
  prepare: () => ({
    provider: createMockProvider([toolCall("look", {}), text("Inside.")]),
    tools: [tool("look", () => "seen")],
    messages,
  }),
});

const scenes: readonly (readonly [name: string, options: () => Partial<LoopOptions>])[] = [
  ["an answer without a call", () => ({ provider: createMockProvider([[text("Hello"), tokens]]) })],
  [
    "settings, limits, prices and a session",
    () => ({
      provider: createMockProvider([
        [reasoning("Hm."), toolCall("look", { at: 1 }), tokens],
        [text("So."), tokens],
      ]),
      tools: [tool("look", () => ({ seen: "a dog", token: "sk-abc12345678" }))],
      system: "Be short.",
      session: { conversationId: "c1" },
      modelSettings: { temperature: 0.5, maxOutputTokens: 99, topP: 1, seed: 7, stopSequences: ["END"] },
      limits: { maxIterations: 4, maxCostUSD: 1, maxTokens: Number.POSITIVE_INFINITY },
      pricing: () => 0.01,
    }),
  ],
  [
    "calls that fail, time out, are denied and name unknown tools",
    () => ({
      provider: createMockProvider([[toolCall("broken"), toolCall("deaf"), toolCall("secret"), toolCall("nope")], text("Well.")]),
      tools: [
        tool("broken", () => {
          throw new Error("out of order");
        }),
        tool("deaf", () => new Promise(() => {}), { timeoutMs: 20 }),
        tool("secret", () => "never told"),
      ],
      middleware: [approve(({ name }) => (name === "secret" ? { kind: "deny", reason: "not you" } : { kind: "approve" }))],
    }),
  ],
  [
    "nested runs, also two levels deep and at the same time",
    () => ({
      provider: createMockProvider([[toolCall("ask_expert", {}), toolCall("delegate", {})], text("Done.")]),
      tools: [
        inner,
        tool("delegate", (_args, context) =>
          runNested(context, {
            provider: createMockProvider([toolCall("ask_expert", {}), text("Deep.")]),
            tools: [inner],
            messages,
          }).then((result) => result.text),
        ),
      ],
    }),
  ],
  [
    "attempts that a retry and a fallback discard",
    () => {
      const flaky = createMockProvider([[text("Half"), fail({ status: 503, message: "busy" })], text("Whole.")]);
      const broken = createMockProvider([[toolCall("peek"), wait(20), fail({ status: 503, message: "busy" })]], { id: "first" });
      return { provider: withFallback([broken, withRetry(flaky)]) };
    },
  ],
  ["a stream that fails", () => ({ provider: createMockProvider([fail({ status: 400, message: "bad" })]) })],
  [
    "a call whose result comes from outside",
    () => ({
      provider: createMockProvider([toolCall("later", {})]),
      tools: [tool("later", () => defer())],
      journal: memoryJournal(),
    }),
  ],
  [
    "loops, restarts and approvals",
    () => ({
      provider: createMockProvider([toolCall("look"), toolCall("look"), toolCall("enrich"), text("So.")]),
      tools: [
        tool("look", () => 1),
        tool("enrich", () => contextRestart({ type: "context_restart_profile", enhanced_context_item: {} })),
      ],
      middleware: [detectLoops({ threshold: 2 }), approve(() => ({ kind: "approve" }))],
    }),
  ],
  [
    "compactions that succeed, follow a rejected request or fail",
    () => {
      const long = tool("long", () => "x".repeat(4_000));
      let [refused, summaries] = [0, 0];
      const provider = createMockProvider(({ purpose, iteration }) => {
        if (purpose === "summary")
          return (summaries += 1) === 3 ? fail({ status: 400, message: "no" }) : [text("Short."), tokens];
        if (iteration === 7 && (refused += 1) === 1)
          return fail({ status: 400, code: "context_length_exceeded", message: "long" });
        return iteration < 14 ? toolCall("long", { iteration }) : text("Done.");
      });
      const compaction = compactMessages({ when: 4_500, keep: 1_500 });
      return { provider, tools: [long], pricing: () => 0.01, middleware: [compaction] };
    },
  ],
  [
    "a limit",
    () => ({
      provider: createMockProvider(() => toolCall("look", {})),
      tools: [tool("look", () => 1)],
      limits: { maxIterations: 2 },
    }),
  ],
];

describe("recordSpans", () => {
  it.for(scenes.flatMap(([name, options]) => [true, false].map((captureContent) => [name, captureContent, options] as const)))(
    "creates the same spans as tracing for %s, with captureContent: %s",
    async ([, captureContent, options]) => {
      const { live, recorded } = await runTwice(options(), { agentName: "bot", captureContent });
      expect(live.spans().length).toBeGreaterThan(0);
      expect(plainSpans(recorded)).toEqual(plainSpans(live));
      const times = timesOf(live);
      for (const [index, [place, start, end]] of timesOf(recorded).entries()) {
        expect(place).toBe(times[index]?.[0]);
        expect(Math.abs(start - (times[index]?.[1] ?? 0))).toBeLessThan(500);
        expect(Math.abs(end - (times[index]?.[2] ?? 0))).toBeLessThan(500);
      }
    },
  );

  it.for([
    ["the same log sink", false],
    ["a new log sink", true],
  ] as const)("creates a span for each execution of a run that is resumed with %s", async ([, isNew]) => {
    const journal = memoryJournal();
    let time = 1_700_000_000_000;
    const { wrap, end } = traceTwice({ agentName: "bot", captureContent: true }, { now: () => (time += 1) });
    const options = (): LoopOptions => ({
      provider: createMockProvider(({ iteration }) => (iteration < 2 ? toolCall("ask_expert", { iteration }) : text("Done."))),
      tools: [inner],
      messages,
      runId: "r",
      journal,
      middleware: [approve(({ args }) => (isDeepStrictEqual(args, { iteration: 1 }) ? { kind: "ask" } : { kind: "approve" }))],
    });
    const { pendingCalls } = await runToolLoop(wrap(options()));
    const answers = Object.fromEntries(pendingCalls.map(({ callId }) => [callId, { kind: "approve" as const }]));
    const { status } = await runToolLoop(wrap({ ...options(), answers }, isNew));
    expect(status).toBe("completed");
    const { live, recorded } = end();
    expect(plainSpans(recorded)).toEqual(plainSpans(live));
    expect(live.spans().filter(({ attributes }) => attributes["turnwright.run.replayed_iterations"] === 2)).toHaveLength(1);
  });

  it("creates the same spans as tracing for a run that rejects", async () => {
    const broken = { ...memoryJournal(), append: () => Promise.reject(new Error("disk full")) };
    const { live, recorded } = await runTwice({ journal: broken });
    expect(live.spans().length).toBeGreaterThan(0);
    expect(plainSpans(recorded)).toEqual(plainSpans(live));
  });

  it("uses the log's times", async () => {
    const { log } = await logRun(optionsFor(1), { clock });
    const tracing = setUpTracing();
    recordSpans(log, { tracer: tracing.provider.getTracer("own") });
    for (const [, start, end] of timesOf(tracing)) expect([start, end]).toEqual([clock.now(), clock.now()]);
  });

  it("ends all spans of a run whose log was truncated", async () => {
    const { lines } = await logRun(optionsFor(1));
    const cut = lines.findIndex((line) => line.includes('"type":"tool-start"')) + 1;
    const tracing = setUpTracing();
    recordSpans(parseRunLog(lines.slice(0, cut).join("")), { tracerProvider: tracing.provider });
    expect(`\n${tracing.tree(["turnwright.run.broken"])}\n`).toMatchInlineSnapshot(`
      "
      invoke_agent ! "_OTHER" turnwright.run.broken=true
        chat mock-model ! "_OTHER"
        execute_tool look_up ! "_OTHER"
      "
    `);
    expect(tracing.spans()).toHaveLength(tracing.started());
  });

  it("makes the root span a child of the active span", async () => {
    const release = keepContexts();
    try {
      const { log } = await logRun(
        optionsFor(0, { provider: createMockProvider([toolCall("ask_expert", {}), text("So.")]), tools: [inner] }),
      );
      const tracing = setUpTracing();
      const tracer = tracing.provider.getTracer("own");
      tracer.startActiveSpan("request", (span) => {
        recordSpans(log, { tracer });
        span.end();
      });
      expect(`\n${tracing.tree()}\n`).toMatchInlineSnapshot(`
        "
        request
          invoke_agent
            chat mock-model
            execute_tool ask_expert
              invoke_agent ask_expert
                chat mock-model
                execute_tool look
                chat mock-model
            chat mock-model
        "
      `);
    } finally {
      release();
    }
  });

  it("rejects unknown and invalid options", async () => {
    const { log } = await logRun(optionsFor(0));
    expect(() => recordSpans(log, { tracer: {} as never })).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(() => recordSpans(log, { trace: 1 } as never)).toThrow(expect.objectContaining({ code: "unknown-option" }));
  });

  it("throws for a line with a missing field", async () => {
    const { lines } = await logRun(optionsFor(0));
    const wrong = lines.map((line) => line.replace(/"reason":\{[^}]*\},/, ""));
    const { provider } = setUpTracing();
    expect(() => recordSpans(parseRunLog(wrong.join("")), { tracerProvider: provider })).toThrow(
      'run log: the run "r" has an invalid line.',
    );
  });
});
