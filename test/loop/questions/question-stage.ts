import { z } from "zod";
import { ask, isLoopError, type LoopOptions, type ToolContext } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore, type DurableStore } from "../durable-store.ts";
import { play, type Playing, tool } from "../play.ts";

type Answer = Extract<Decisions[string], { readonly kind: "result" }>;

export type Decisions = NonNullable<LoopOptions["answers"]>;

export const city: z.ZodType<{ city: string }> = z.object({
  city: z.string().refine((name) => name !== "Atlantis", "there is no such city"),
});
export const inOslo: Decisions & { readonly call_i0_0: Answer } = { call_i0_0: { kind: "result", result: { city: "Oslo" } } };
export const byAnn: Decisions & { readonly "call_i0_0#2": Answer } = { "call_i0_0#2": { kind: "result", result: "Ann" } };

export interface Stage {
  readonly ran: string[];
  readonly store: DurableStore;
  readonly start: (answers?: Decisions, more?: Partial<LoopOptions>) => Playing;
}

/** A run in a durable store. The model calls `book` once. `ran` lists the starts of this tool, and the notes of `execute`. */
export function setUp(
  execute: (context: ToolContext, note: (text: string) => void) => unknown,
  more: Partial<LoopOptions> = {},
): Stage {
  const ran: string[] = [];
  const store = createDurableStore();
  const book = tool("book", (_, context) => (ran.push("start"), execute(context, (one) => void ran.push(one))), {
    durable: true,
  });
  const script = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("book")] : text("Done.")));
  const start = (answers?: Decisions, over: Partial<LoopOptions> = {}): Playing =>
    play([], { provider: script, tools: [book], runId: "r", journal: store.open(), answers, ...more, ...over });
  return { ran, store, start };
}

export const twoQuestions = async (context: ToolContext, note: (text: string) => void): Promise<unknown> => {
  const { city: found } = await ask(context, { question: "Which city?", schema: city });
  note(found);
  return `${found} for ${await ask(context, { question: "Which name?" })}`;
};

export const refusalOf = async ({ result }: Playing): Promise<unknown> =>
  result.then(
    () => "no error",
    (error: unknown) => (isLoopError(error) ? [error.code, error.message] : error),
  );
