import { z } from "zod";
import { defer, defineTool, type LoopOptions, memoryJournal, type SavedJournal, type Tool } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "../play.ts";

export const askUser: Tool<{ question: string }> = defineTool({
  name: "ask_user",
  description: "Asks the user",
  inputSchema: z.object({ question: z.string() }),
  outputSchema: z.object({ answer: z.string() }),
});

export interface OutsideStage {
  readonly ran: string[];
  readonly start: (options?: Partial<LoopOptions>) => Playing;
}

export function setUp(
  more: Partial<LoopOptions> = {},
  calls: MockMessage = [toolCall("job", { size: 1 }), toolCall("look"), toolCall("ask_user", { question: "Which?" })],
): OutsideStage {
  const ran: string[] = [];
  const job = tool("job", (_, { callId }) => {
    ran.push(callId);
    return defer();
  });
  const look = tool("look", (_, { callId }) => void ran.push(callId));
  let begun = false;
  const start = (options: Partial<LoopOptions> = {}): Playing => {
    const script = begun ? [text("Done.")] : [calls, text("Done.")];
    begun = true;
    return play(script, { runId: "r", tools: [job, look, askUser], ...more, ...options });
  };
  return { ran, start };
}

export const savedOf = async ({ result }: Playing): Promise<ReturnType<typeof memoryJournal>> =>
  memoryJournal(JSON.parse(JSON.stringify((await result).journal)) as SavedJournal);

export const both: NonNullable<LoopOptions["answers"]> = {
  call_i0_0: { kind: "result", result: { made: 3 } },
  call_i0_2: { kind: "result", result: { answer: "the blue one" } },
};
