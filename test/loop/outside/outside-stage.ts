// Shared helpers for tests of results from outside.

import { z } from "zod";
import { defineTool, type LoopOptions, memoryJournal, type SavedJournal, type Tool } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "../play.ts";

/** A tool without `execute`, so that each call waits for a result. */
export const askUser: Tool<{ question: string }> = defineTool({
  name: "ask_user",
  description: "Asks the user",
  inputSchema: z.object({ question: z.string() }),
  outputSchema: z.object({ answer: z.string() }),
});

/** The options of the runs, and the calls that have run. */
export interface OutsideStage {
  readonly ran: string[];
  readonly start: (options?: Partial<LoopOptions>) => Playing;
}

/**
 * Sets up runs with one batch of three calls: a job that defers, a lookup that returns immediately, and a question to the user. The first
 * model request calls the tools, and later requests answer.
 */
export function setUp(
  more: Partial<LoopOptions> = {},
  calls: MockMessage = [toolCall("job", { size: 1 }), toolCall("look"), toolCall("ask_user", { question: "Which?" })],
): OutsideStage {
  const ran: string[] = [];
  const job = tool("job", (_, { callId, defer }) => {
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

/** Returns the journal of a run after saving and loading it. */
export const savedOf = async ({ result }: Playing): Promise<ReturnType<typeof memoryJournal>> =>
  memoryJournal(JSON.parse(JSON.stringify((await result).journal)) as SavedJournal);

/** The results for both waiting calls. */
export const both: NonNullable<LoopOptions["decisions"]> = {
  call_i0_0: { kind: "result", result: { made: 3 } },
  call_i0_2: { kind: "result", result: { answer: "the blue one" } },
};
