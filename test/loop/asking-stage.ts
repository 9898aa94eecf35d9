import { z } from "zod";
import { approve, type Approve, defineTool, type LoopOptions, memoryJournal, type SavedJournal } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "./play.ts";

/**
 * The model makes three calls at once. The first and the third are payments that need a decision, and the second is a lookup that
 * needs none.
 */
export function setUp(more: Partial<LoopOptions> = {}): {
  readonly ran: string[];
  readonly asked: string[];
  readonly start: (options?: Partial<LoopOptions>) => Playing;
} {
  const ran: string[] = [];
  const asked: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: z.object({ amount: z.number().max(100) }),
    execute: ({ amount }, { callId }) => void ran.push(`${callId} ${amount}`),
  });
  const look = tool("look", (_, { callId }) => ran.push(callId));
  const policy: Approve = ({ name, callId }) => {
    asked.push(callId);
    return { kind: name === "pay" ? "ask" : "approve" };
  };
  const script = [[toolCall("pay", { amount: 1 }), toolCall("look"), toolCall("pay", { amount: 2 })], text("Done.")];
  let begun = false;
  const start = (options: Partial<LoopOptions> = {}): Playing => {
    const turns = begun ? script.slice(1) : script;
    begun = true;
    return play(turns, { runId: "r", tools: [pay, look], middleware: [approve(policy)], ...more, ...options });
  };
  return { ran, asked, start };
}

export const savedOf = async ({ result }: Playing): Promise<ReturnType<typeof memoryJournal>> =>
  memoryJournal(JSON.parse(JSON.stringify((await result).journal)) as SavedJournal);

export const both = (kind: "approve" | "deny"): LoopOptions["answers"] => ({ call_i0_0: { kind }, call_i0_2: { kind } });
