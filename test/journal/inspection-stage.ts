// A run to inspect. Some of its calls wait for approval, and one of these is in a nested run.

import { defineAgentTool, type LoopOptions, toolResult } from "turnwright";
import {
  createMockProvider,
  type MockPart,
  type MockProvider,
  type MockMessage,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { tool } from "../loop/play.ts";

const messages = [{ role: "user", content: "Go." }] as const;
export const counted: MockPart = usage({ inputTokens: 5, outputTokens: 2 });
const refuse = { validate: () => ({ issues: [{ message: "no" }] }), jsonSchema: { input: () => ({ type: "object" }) } };
export const strict = { "~standard": { version: 1, vendor: "test", ...refuse } } as never;

export const say = (turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(({ messages: said }) => turns[said.filter(({ role }) => role === "assistant").length]);

/**
 * Returns the options of a run whose model sends `turns`. "pay" needs approval, and "research" is a nested run that also calls
 * "pay". "job" and "sign" get their results from outside the run, and "sign" needs an approval before that. "delegate" is a
 * nested run that calls "job".
 */
export function optionsFor(turns: readonly MockMessage[], more: Partial<LoopOptions> = {}): LoopOptions {
  const pay = tool("pay", () => "paid", { needsApproval: true });
  const research = defineAgentTool({
    name: "research",
    description: "research",
    inputSchema: { type: "object" },
    prepare: () => ({
      messages: [{ role: "user", content: "Inside." }],
      provider: say([[toolCall("pay", { n: 8 }), counted], text("Found.")]),
      tools: [pay],
    }),
  });
  const job = tool("job", (_, { defer }) => defer());
  const sign = tool("sign", (_, { defer }) => defer(), { needsApproval: true });
  const delegate = defineAgentTool({
    name: "delegate",
    description: "delegate",
    inputSchema: { type: "object" },
    prepare: () => ({
      messages: [{ role: "user", content: "Inside." }],
      provider: say([[toolCall("job", { n: 8 }), counted], text("Found.")]),
      tools: [job],
    }),
  });
  const over = tool("over", () => toolResult({ data: "bye", endTurn: true }));
  return {
    provider: say(turns),
    tools: [
      pay,
      research,
      job,
      sign,
      delegate,
      over,
      tool("look", () => "seen"),
      { ...tool("strict", () => 1), inputSchema: strict },
    ],
    messages,
    runId: "run-1",
    ...more,
  };
}

/** Messages with two calls that wait for approval, one of them in a nested run. */
export const waits: readonly MockMessage[] = [
  [text("Three things."), toolCall("pay", { n: 1 }), toolCall("research"), toolCall("look"), counted],
  text("Done."),
];
/** Messages with two calls that wait for their results, one of them in a nested run. */
export const defers: readonly MockMessage[] = [
  [toolCall("job", { n: 1 }), toolCall("delegate"), toolCall("look"), counted],
  text("Done."),
];
export const own = "call_i0_0";
export const inner = "call_i0_1/call_i0_0";
export const looks: readonly MockMessage[] = [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")];
