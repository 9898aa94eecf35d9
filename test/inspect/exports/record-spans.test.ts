import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import {
  contextRestart,
  defineAgentTool,
  defineTool,
  deferred,
  detectLoops,
  type LoopOptions,
  memoryJournal,
  runToolLoop,
  type Tool,
  type ToolContext,
  withFallback,
  withRetry,
} from "turnwright";
import { parseRunLog } from "turnwright/inspect";
import { recordSpans } from "turnwright/otel";
import { createMockProvider, createTestClock, fail, reasoning, text, toolCall, usage } from "turnwright/testing";
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
  run: () => ({
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
    "calls that fail, time out, are denied, have wrong arguments and unknown tools",
    () => ({
      provider: createMockProvider([
        [toolCall("broken"), toolCall("deaf"), toolCall("secret"), toolCall("strict", { id: 1 }), toolCall("nope")],
        text("Well."),
      ]),
      tools: [
        tool("broken", () => {
          throw new Error("out of order");
        }),
        tool("deaf", () => new Promise(() => {}), { timeoutMs: 20 }),
        tool("secret", () => "never told"),
        tool("strict", () => "never run", {
          inputSchema: { type: "object", properties: { id: { type: "string" } } },
          validate: undefined,
        }),
      ],
      clock: undefined,
      policies: { approve: ({ name }) => (name === "secret" ? { kind: "deny", reason: "not you" } : { kind: "approve" }) },
    }),
  ],
  [
    "nested runs, also two levels deep and at the same time",
    () => ({
      provider: createMockProvider([[toolCall("ask_expert", {}), toolCall("delegate", {})], text("Done.")]),
      tools: [
        inner,
        tool("delegate", (_args, context) =>
          context
            .runToolLoop({ provider: createMockProvider([toolCall("ask_expert", {}), text("Deep.")]), tools: [inner], messages })
            .then((result) => result.text),
        ),
      ],
    }),
  ],
  [
    "attempts that a retry and a fallback discard",
    () => {
      const flaky = createMockProvider([[text("Half"), fail("overloaded")], text("Whole.")]);
      const broken = createMockProvider([fail("auth")], { model: "first" });
      return { provider: withFallback([broken, withRetry(flaky, { delayMs: () => 0 })]) };
    },
  ],
  ["a stream that fails", () => ({ provider: createMockProvider([fail("rate-limit")]) })],
  [
    "a call whose result comes from outside",
    () => ({
      provider: createMockProvider([toolCall("later", {})]),
      tools: [tool("later", () => deferred())],
    }),
  ],
  [
    "loops and restarts",
    () => ({
      provider: createMockProvider(({ iteration }) => (iteration < 4 ? toolCall("look", { at: 1 }) : text("Done."))),
      tools: [tool("look", () => contextRestart({ suffix: "More.", disableTools: [] }))],
      stopWhen: detectLoops({ action: "warn" }),
    }),
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

const common = (): LoopOptions => ({ provider: createMockProvider([]), messages, runId: "r", clock: createTestClock() });

describe("recordSpans", () => {
  it.for(scenes.flatMap(([name, options]) => [true, false].map((captureContent) => [name, captureContent, options] as const)))(
    "makes the spans of withTracing for %s, with captureContent %s",
    async ([, captureContent, options]) => {
      const { live, recorded } = await runTwice({ ...common(), ...options() }, { agentName: "bot", captureContent });
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
});
