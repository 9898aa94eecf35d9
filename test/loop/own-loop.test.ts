import { expect, it } from "vitest";
import { createToolRegistry, type LoopResult, memoryJournal, runToolLoop, type Tool, type ToolContext } from "turnwright";
import {
  applyStep,
  type Bounds,
  buildResult,
  createLoopState,
  detectContextRestart,
  executeToolCall,
  nextStep,
  CancelScope,
  type SettledCall,
  streamOnce,
} from "turnwright/parts";
import { createMockProvider, createTestClock, type MockScript, text, toolCall } from "turnwright/testing";
import { tool } from "./play.ts";

const none = Number.POSITIVE_INFINITY;
const bounds: Bounds = {
  maxIterations: 5,
  maxConsecutiveToolErrors: 3,
  maxRestarts: 2,
  maxPauses: 2,
  maxToolCalls: none,
  maxTokens: none,
  wallClockMs: none,
  finalAnswer: false,
  asksIteration: false,
};
const timeouts = { streamIdleMs: 1_000, firstChunkMs: 1_000, toolMs: 1_000, settleMs: 100, approvalMs: none, hookMs: 1_000 };
const messages = [{ role: "user" as const, content: "Go." }];

/** A loop built from `turnwright/parts`, without journal, control and events. It runs calls one after the other. */
async function runOwnLoop(script: MockScript, tools: readonly Tool[]): Promise<LoopResult> {
  const clock = createTestClock();
  const scope = new CancelScope();
  const provider = createMockProvider(script);
  const registry = createToolRegistry(tools);
  const exposed = new Map(registry.definitions().map((definition) => [definition.name, definition]));
  const state = createLoopState({ messages, heldIds: [], contextItems: [], priced: false });
  const events = { runId: "own", wants: () => false, send: () => {}, room: () => undefined };
  const ports = { registry, clock, scope, timeouts, hookMs: 1_000, exposed, contextFor: () => ({}) as ToolContext };
  const lookAround = () => ({ now: clock.now(), token: "own" });
  for (;;) {
    const next = nextStep(state, bounds);
    if (next.kind === "end")
      return buildResult(state, { ending: next.ending, runId: "own", journal: memoryJournal(), session: {} });
    if (next.kind === "inbox") applyStep(state, { kind: "inbox", answer: lookAround() });
    if (next.kind === "last-look") applyStep(state, { kind: "last-look", answer: lookAround(), ending: next.ending });
    if (next.kind === "hook") applyStep(state, { kind: "hook", answer: { kind: "continue" } });
    if (next.kind === "model") {
      const request = { messages: state.messages, tools: registry.definitions(), iteration: state.iteration };
      applyStep(state, {
        kind: "model",
        result: await streamOnce(request, { provider, clock, scope, timeouts, events, heldIds: state.heldIds }),
      });
    }
    if (next.kind === "batch") {
      const settled: SettledCall[] = [];
      for (const call of state.current.calls) {
        const outcome = await executeToolCall(call, ports);
        settled.push({ outcome, restart: detectContextRestart(outcome, undefined) });
      }
      applyStep(state, { kind: "batch", settled });
    }
  }
}

it("a hand-written loop with turnwright/parts returns the same result as runToolLoop", async () => {
  const script: MockScript = [
    [text("Working. "), toolCall("echo", { n: 1 }), toolCall("broken"), toolCall("nope")],
    toolCall("echo", { n: 2 }),
    text("Done."),
  ];
  const tools = [tool("echo", (args) => args), tool("broken", () => Promise.reject(new Error("out of order")))];
  const own = await runOwnLoop(script, tools);
  const real = await runToolLoop({
    provider: createMockProvider(script),
    tools,
    messages,
    clock: createTestClock(),
    runId: "own",
  });
  // `refusals` is only for journals, so it is not compared.
  const plain = ({ journal: _, streamResults, ...rest }: LoopResult): unknown =>
    JSON.parse(JSON.stringify({ ...rest, streamResults: streamResults.map(({ refusals: __, ...result }) => result) }));
  expect(plain(own)).toEqual(plain(real));
});
