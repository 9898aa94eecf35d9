import { z } from "zod";
import {
  contextRestart,
  defineTool,
  FatalToolError,
  toolResult,
  type LoopControl,
  type Tool,
  type ToolContext,
} from "turnwright";
import type { TestClock } from "turnwright/testing";

export interface Stage {
  readonly clock: TestClock;
  readonly control: LoopControl;
  readonly abort: AbortController;
}

export function createTools({ clock, control }: Stage): readonly Tool[] {
  const any = z.object({}).loose();
  const never = new Promise<never>(() => {});
  const tool = (name: string, execute: (args: unknown, ctx: ToolContext) => unknown, traits: Partial<Tool> = {}): Tool =>
    defineTool({ name, description: name, inputSchema: any, ...traits, execute });
  return [
    defineTool({
      name: "echo",
      description: "Says it back",
      inputSchema: z.object({ say: z.string() }),
      execute: ({ say }) => ({ said: say }),
    }),
    tool("later", () => new Promise((resolve) => clock.setTimeout(() => resolve("late"), 50))),
    tool("broken", () => {
      throw new Error("out of order");
    }),
    tool("fatal", () => Promise.reject(new FatalToolError("the database is gone"))),
    tool("deaf", () => never),
    tool(
      "polite",
      (_args, ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
    ),
    tool("finish", () => toolResult({ success: true, data: "done", endTurn: true })),
    tool("note", () => "kept", { requiresFollowUp: false }),
    tool("picture", () => toolResult({ success: true, content: [{ type: "image", mediaType: "image/png", data: "aGk=" }] })),
    tool("enrich", () =>
      contextRestart({
        type: "context_restart_profile",
        enhanced_context_item: { name: "Ada" },
        disable_tools: ["enrich_once"],
      }),
    ),
    tool("stopper", () => {
      control.stop({ requester: "the tool" });
      return "dropped";
    }),
    tool("alone", () => "alone", { sequential: true }),
  ];
}
