import { defineAgentTool, type LoopOptions, type Tool } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { tool } from "./play.ts";

export function createAgent(tools: readonly Tool[], calls: readonly string[]): Tool {
  const inner: readonly MockMessage[] = [[text("So. "), ...calls.map((name) => toolCall(name))], text("Inner.")];
  return defineAgentTool({
    name: "quick",
    description: "quick",
    inputSchema: { type: "object" },
    prepare: () => ({
      messages: [{ role: "user", content: "Well?" }],
      provider: createMockProvider(({ messages }) => inner[messages.filter(({ role }) => role === "assistant").length]),
      tools: [...tools],
    }),
    toResult: (result) => result.text,
  });
}

const agent = createAgent([tool("note", () => 1)], ["note", "note"]);

export const withAgent = ({ tools = [] }: LoopOptions): LoopOptions["tools"] =>
  Array.isArray(tools) ? tools.map((one: Tool) => (one.name === "quick" ? agent : one)) : tools;
