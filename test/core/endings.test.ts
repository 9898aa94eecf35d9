import { describe, expect, it } from "vitest";
import { defineTool, type LoopEvent } from "turnwright";
import { createMockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import { createHandoffs } from "turnwright/middleware";
import { detectLoops } from "../../src/core/middleware/detect-loops.ts";
import { finalAnswer } from "../../src/core/middleware/final-answer.ts";
import { limitIdenticalCalls } from "../../src/core/middleware/identical-calls.ts";
import { gateTools } from "../../src/core/middleware/gate.ts";
import { onIteration } from "../../src/core/middleware/iteration-hooks.ts";
import { preToolText } from "../../src/core/middleware/pre-tool-text.ts";
import { processResults } from "../../src/core/middleware/process-results.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { Journal } from "turnwright";
import type { Middleware } from "../../src/core/types/middleware.ts";

const messages = [{ role: "user", content: "Go." }] as const;
const look = defineTool({ name: "look", description: "", inputSchema: { type: "object" }, execute: () => "seen" });
const spent = usage({ inputTokens: 9, outputTokens: 1 });

function run(script: MockScript, middleware: readonly Middleware[], more: Partial<Parameters<typeof runToolLoop>[0]> = {}) {
  return runToolLoop({ provider: createMockProvider(script), tools: [look], messages, middleware, runId: "r", ...more });
}

/** Runs twice: the second run has only the journal of the first. */
async function runAndReplay(script: MockScript, create: () => readonly Middleware[], more: object = {}) {
  const journal: Journal = recordSteps();
  const first = await run(script, create(), { journal, ...more });
  const again = await run([], create(), { journal, ...more });
  expect([again.messages, again.reason, again.usage]).toEqual([first.messages, first.reason, first.usage]);
  return first;
}

describe("middleware around calls", () => {
  it("processes a result once, and counts the extractor's token usage", async () => {
    let asked = 0;
    const extract = () => {
      asked += 1;
      return { text: "short", usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } };
    };
    const create = () => [processResults({ extractor: { threshold: 0, extract } })];
    const { calls, usage: used } = await runAndReplay(
      [
        [toolCall("look"), spent],
        [text("Done."), spent],
      ],
      create,
    );
    expect([asked, calls.map(({ outcome, result }) => [outcome, result]), used.totalTokens]).toEqual([
      1,
      [["processed", "short"]],
      27,
    ]);
  });

  it("blocks calls to tools outside `allowedNames`, and calls `retain` once for an allowed tool", async () => {
    const retained: string[] = [];
    const create = () => [gateTools({ active: true, allowedNames: ["look"], retain: (name) => void retained.push(name) })];
    const { calls } = await runAndReplay([[toolCall("look"), toolCall("other")], text("Done.")], create);
    expect([retained, calls.map(({ outcome }) => outcome)]).toEqual([["look"], ["completed", "blocked"]]);
  });
});

describe("middleware that ends a run", () => {
  const looking: MockScript = ({ toolChoice }) =>
    toolChoice === "none" ? [text("In short."), spent] : [text("Hm."), toolCall("look"), spent];

  it("with detectLoops, warns the model about a loop or ends the run, depending on `action`", async () => {
    const warned = await runAndReplay(
      ({ iteration }) => (iteration < 2 ? [toolCall("look")] : [text("Done.")]),
      () => [detectLoops({ threshold: 2, action: "inject-warning" })],
    );
    expect(warned.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "user",
      "assistant",
    ]);
    const stopped = await runAndReplay(looking, () => [detectLoops({ threshold: 2, action: "stop" })]);
    expect([stopped.reason, stopped.toolCallsExecuted]).toEqual([{ kind: "loop-detected", toolName: "look", count: 2 }, 1]);
  });

  it("ends a run that repeatedly gets the same results", async () => {
    const events: LoopEvent[] = [];
    const watch: Middleware = { name: "watch", pure: true, on: (event) => void events.push(event) };
    const { reason } = await run(looking, [watch, limitIdenticalCalls({ max: 3 })]);
    expect(reason).toEqual({ kind: "loop-detected", toolName: "look", count: 3 });
    expect(events.filter(({ type }) => type === "loop-detected")).toMatchObject([{ iteration: 2, count: 3, action: "stop" }]);
  });

  it("reserves tokens for the final answer", async () => {
    const create = () => [finalAnswer({ reserve: { tokens: 10 } })];
    const result = await runAndReplay(looking, create, { limits: { maxTokens: 40 } });
    expect([result.reason.kind, result.text, result.finalAnswer, result.usage.totalTokens]).toEqual([
      "max-tokens",
      "In short.",
      true,
      40,
    ]);
  });

  it("calls onIteration before a tool with requiresFollowUp: false ends the run", async () => {
    const end = defineTool({ ...look, requiresFollowUp: false });
    const create = () => [onIteration(() => ({ abort: true, reason: "Enough." })), preToolText()];
    const { reason } = await runAndReplay(looking, create, { tools: [end] });
    expect(reason).toEqual({ kind: "iteration-abort", reason: "Enough." });
    expect((await runAndReplay(looking, () => [preToolText()], { tools: [end] })).reason).toEqual({ kind: "pre-tool-text" });
  });
});

describe("createHandoffs", () => {
  const agents = createHandoffs({
    start: "triage",
    maxHandoffs: 1,
    agents: {
      triage: { description: "", system: "Triage.", handoffs: ["billing"] },
      billing: { description: "", system: "Billing.", handoffs: ["triage"] },
    },
  });

  it("sends each request as the current agent, and ends the run after more than maxHandoffs handoffs", async () => {
    const script = [[toolCall("transfer_to_billing", {})], [toolCall("transfer_to_triage", {})]];
    const provider = createMockProvider(script);
    const journal = recordSteps();
    const options = { journal, tools: agents.tools, provider };
    const first = await run([], [agents], options);
    const again = await run([], [agents], options);
    for (const { reason, agent, handoffs } of [first, again])
      expect([reason, agent, handoffs?.map(({ from, to }) => `${from} ${to}`)]).toEqual([
        { kind: "handoff-cap", count: 2 },
        "triage",
        ["triage billing", "billing triage"],
      ]);
    expect(provider.requests.map(({ system, tools }) => [system, tools.map(({ name }) => name)])).toEqual([
      ["Triage.", ["transfer_to_billing"]],
      ["Billing.", ["transfer_to_triage"]],
    ]);
  });
});
