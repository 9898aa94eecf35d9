import { defer, defineAgentTool, type LoopOptions, toolResult } from "turnwright";
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
 * The tool "pay" needs approval. "job" and "sign" get results from outside the run, and "sign" also needs approval. "research"
 * starts a nested run that calls "pay", and "delegate" starts one that calls "job".
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
  const job = tool("job", () => defer());
  const sign = tool("sign", () => defer(), { needsApproval: true });
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

export const waits: readonly MockMessage[] = [
  [text("Three things."), toolCall("pay", { n: 1 }), toolCall("research"), toolCall("look"), counted],
  text("Done."),
];
export const defers: readonly MockMessage[] = [
  [toolCall("job", { n: 1 }), toolCall("delegate"), toolCall("look"), counted],
  text("Done."),
];
export const own = "call_i0_0";
export const inner = "call_i0_1/call_i0_0";
export const looks: readonly MockMessage[] = [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")];
