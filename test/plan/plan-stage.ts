import type { LoopOptions, Message, ModelRequest, Tool } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import type { PlannerCommand } from "../../src/middleware/plan/planner-prompt.ts";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { createMockProvider, type MockPart, type MockProvider, type MockScript, text } from "turnwright/testing";
import { play, type Playing, tool } from "../loop/play.ts";

export const command = (tool_name: string, more: object = {}): PlannerCommand => ({
  purpose: `use ${tool_name}`,
  tool_name,
  tool_kwargs: {},
  todo_suggestion: "",
  ...more,
});

export const execute = (...commands: readonly object[]): MockPart =>
  text(JSON.stringify({ next_action: "execute", execution_commands: commands }));

export const respond: MockPart = text(JSON.stringify({ next_action: "response", execution_commands: [] }));

export interface Planned extends Playing {
  readonly model: MockProvider;
}

export function plan(script: MockScript, more: Partial<LoopOptions> = {}, options: PlannerOptions = {}): Planned {
  const model = createMockProvider(script);
  const playing = play([], { provider: withPlanner(model, options), tools: [add, look], ...more });
  return { ...playing, model };
}

export const add: Tool = tool("add", (args) => {
  const { a, b } = args as { readonly a: number; readonly b: number };
  return a + b;
});
export const look: Tool = tool("look", () => "a quiet place");

export function shownTo(request: ModelRequest | undefined): { readonly [field: string]: unknown } {
  const last: Message | undefined = [...(request?.messages ?? [])].reverse().find(({ role }) => role === "user");
  if (last?.role !== "user" || typeof last.content !== "string") throw new Error("Nothing was shown.");
  return JSON.parse(lastPartOf(last.content)) as { readonly [field: string]: unknown };
}

export function lastPartOf(content: string): string {
  const at = content.lastIndexOf("\n\n{");
  return at === -1 ? content : content.slice(at + 2);
}

export function asksForPlan(request: ModelRequest): boolean {
  try {
    return "round_index" in shownTo(request);
  } catch {
    return false;
  }
}
