// Four calls wait for results: two in the run itself, and two in a nested run. In each run, one result comes from a render farm and
// one from the page.

import { defer, defineAgentTool, defineTool, type LoopOptions } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const ids = { farm: "call_i0_0", page: "call_i0_1", nestedFarm: "call_i0_2/call_i0_0", nestedPage: "call_i0_2/call_i0_1" };

export function setUpFilm(): { readonly ran: string[]; readonly run: Omit<LoopOptions, "messages"> } {
  const ran: string[] = [];
  const inputSchema = { type: "object" } as const;
  const render = defineTool({
    name: "render",
    description: "Renders a film on a render farm",
    inputSchema,
    execute: (_, { callId, depth }) => {
      ran.push(`render ${depth} ${callId}`);
      return defer();
    },
  });
  const ask = defineTool({ name: "ask_user", description: "Asks the user of the page", inputSchema });
  const providerOf = (name: string, calls: readonly ReturnType<typeof toolCall>[]): LoopOptions["provider"] =>
    createMockProvider(({ messages }) => {
      const count = messages.filter(({ role }) => role === "assistant").length;
      ran.push(`${name} ${count}`);
      return count === 0 ? calls : text(`${name} is done.`);
    });
  const studio = defineAgentTool({
    name: "studio",
    description: "Makes a film",
    inputSchema,
    prepare: () => ({
      provider: providerOf("inner model", [toolCall("render"), toolCall("ask_user")]),
      messages: [{ role: "user", content: "Make it." }],
      tools: [render, ask],
    }),
  });
  const provider = providerOf("outer model", [toolCall("render"), toolCall("ask_user"), toolCall("studio")]);
  return { ran, run: { provider, tools: [render, ask, studio] } };
}
