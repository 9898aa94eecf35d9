import { type LoopResult, runToolLoop } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { scenarioTool } from "turnwright/testing";
import { countListeners } from "../loop/count-listeners.ts";
import { ask, runIteration } from "../wire/provider-iteration.ts";
import { look } from "./plan-stage.ts";
import { createCountingFetch, type Sending, startSlowService, type TextWire, textWires } from "./wire-stage.ts";

const megabyte = 1024 * 1024;
const chatter: readonly string[] = Array.from({ length: 80 }, () => "x".repeat(megabyte / 16));

interface Counted {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
  readonly plan: Sending;
  readonly read: readonly number[];
}

async function run(wire: TextWire, plan: readonly string[], options: PlannerOptions = {}): Promise<Counted> {
  const service = await startSlowService([wire.toFrames(plan), wire.toFrames(["Here you ", "are."])]);
  onTestFinished(() => service.close());
  const { fetch, read } = createCountingFetch();
  const provider = withPlanner(wire.connect(service.url, fetch), options);
  const result = await runToolLoop({ provider, tools: [look], messages: [{ role: "user", content: "Hello?" }] });
  const { bodies } = service;
  expect(bodies.flatMap((body) => wire.check(body))).toEqual([]);
  return { result, bodies, plan: await service.sent(0), read };
}

describe.for(textWires)("withPlanner over $name", (wire) => {
  it.for<[what: string, begin: string]>([
    ['if the plan\'s action is "response"', '{"next_action":"response","note":"'],
    ["even if text precedes the plan", 'Let me think. ```json\n{ "next_action" : " Response " , "note":"'],
  ])("stops reading a message of 5 MB after the plan %s", async ([, begin]) => {
    const { result, bodies, plan, read } = await run(wire, [begin, ...chatter, '"}']);
    expect([result.reason.kind, result.text, bodies.length]).toEqual(["answered", "Here you are.", 2]);
    expect(plan.isWhole).toBe(false);
    expect(plan.size).toBeGreaterThan(5 * megabyte);
    expect(plan.left, "bytes that left the service").toBeLessThan(megabyte);
    expect(read[0], "bytes that the client took").toBeLessThan(megabyte / 2);
  });

  it("adds an estimate for an early-closed plan to the answer's usage", async () => {
    const { result } = await run(wire, ['{"next_action":"response","note":"', ...chatter, '"}']);
    const { inputTokens, outputTokens, totalTokens } = result.usage;
    // Anthropic reports input tokens at the start of a stream, and OpenAI reports them only at the end.
    if (wire.name === "anthropic") expect(inputTokens).toBe(3 + 3);
    else expect(inputTokens).toBeGreaterThan(3 + 100);
    // Output tokens are estimated as a quarter of the characters that were read. The answer adds 2 tokens.
    expect(outputTokens).toBe(Math.ceil('{"next_action":"response","note":"'.length / 4) + 2);
    expect(totalTokens).toBe(inputTokens + outputTokens);
  });

  it("reads the whole plan and counts the reported usage with closesEarly: false", async () => {
    const { result, plan, read } = await run(wire, ['{"next_action":"response","note":"', ...chatter.slice(0, 8), '"}'], {
      closesEarly: false,
    });
    expect([result.text, plan.isWhole, plan.size]).toEqual(["Here you are.", true, read[0]]);
    expect(result.usage).toMatchObject({ inputTokens: 6, outputTokens: 4, totalTokens: 10 });
  });

  it("reads a plan with commands to the end", async () => {
    const plan = ['{"next_action":"execute","note":"', ...chatter.slice(0, 8), '","tool_command":{"tool_name":"look"}}'];
    const { plan: sent, read, result } = await run(wire, plan, { maxRounds: 1 });
    expect([sent.isWhole, sent.size, result.text, result.toolCallsExecuted]).toEqual([true, read[0], "Here you are.", 1]);
    expect(result.usage).toMatchObject({ inputTokens: 6, outputTokens: 4 });
  });

  it("leaves no listener on the signal after a plan is closed early", async () => {
    const service = await startSlowService(
      [['{"next_action":"response","note":"', ...chatter], ["Here you are."]].map(wire.toFrames),
    );
    onTestFinished(() => service.close());
    const listeners = countListeners();
    onTestFinished(() => listeners.stop());
    const { signal } = new AbortController();
    const provider = withPlanner(wire.connect(service.url, createCountingFetch().fetch));
    const iteration = await runIteration(provider, ask("Hello?", { tools: [scenarioTool] }), { signal });
    expect([iteration.text, iteration.finish, listeners.on(signal)]).toEqual(["Here you are.", "stop", 0]);
  });
});
