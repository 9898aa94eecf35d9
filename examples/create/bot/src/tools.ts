import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice with six sides",
  inputSchema: z.object({ count: z.number().int().min(1).max(20) }),
  execute: ({ count }) => Array.from({ length: count }, () => 1 + Math.floor(Math.random() * 6)),
});

export const tools: readonly Tool[] = [rollDice];
