// A tool whose calls are runs, in place of one of a random run that answers at once.

import { defineAgentTool, type LoopOptions, type Tool } from "turnwright";
import { createMockProvider, type MockTurn, text, toolCall } from "turnwright/testing";
import { tool } from "./play.ts";

const inner: readonly MockTurn[] = [[text("So. "), toolCall("note"), toolCall("note")], text("Inner.")];

const agent: Tool = defineAgentTool({
  name: "quick",
  description: "quick",
  inputSchema: { type: "object" },
  prepare: () => ({
    messages: [{ role: "user", content: "Well?" }],
    provider: createMockProvider(({ messages }) => inner[messages.filter(({ role }) => role === "assistant").length]),
    tools: [tool("note", () => 1)],
  }),
  toResult: (result) => result.text,
});

/** The tools of a random run, with the agent. */
export const withAgent = ({ tools = [] }: LoopOptions): LoopOptions["tools"] =>
  Array.isArray(tools) ? tools.map((one: Tool) => (one.name === "quick" ? agent : one)) : tools;
