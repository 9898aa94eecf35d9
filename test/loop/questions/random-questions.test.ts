import fc from "fast-check";
import { expect, it } from "vitest";
import { ask, type LoopOptions, runToolLoop } from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { Crash, createDurableStore } from "../durable-store.ts";
import { question } from "../nested/nesting.ts";
import { answersOf, tool } from "../play.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

/** The number of questions that each call asks. */
const plans = fc.record({
  calls: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }),
  sequential: fc.boolean(),
  lives: fc.array(
    fc.record({
      answered: fc.nat({ max: 7 }),
      repeats: fc.boolean(),
      afterRecords: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    }),
    { maxLength: 8 },
  ),
});

it("a tool's random questions are never asked again after an answer, despite crashes", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async ({ calls, sequential, lives }) => {
      const store = createDurableStore();
      const survey = tool(
        "survey",
        async (args, context) => {
          const { count } = args as { count: number };
          const answers: string[] = [];
          for (let number = 0; number < count; number += 1)
            answers.push(await ask(context, { question: `${context.callId}: ${number}?` }));
          return answers;
        },
        { sequential, durable: true },
      );
      const options = {
        provider: createMockProvider(({ messages }) =>
          messages.length === 1 ? calls.map((count) => toolCall("survey", { count })) : text("Done."),
        ),
        messages: question,
        runId: "r",
        tools: [survey],
      };
      const given: { [id: string]: Decisions[string] } = {};
      const over = new Set<string>();
      const live = async ({ answered, repeats, afterRecords }: (typeof lives)[number]): Promise<boolean> => {
        const { pendingCalls } = await inspectJournal(store.open());
        const waiting = pendingCalls.flatMap((call) => (call.state === "awaiting-result" ? [call] : []));
        const answers: { [id: string]: Decisions[string] } = repeats ? { ...given } : {};
        for (const [index, { id, question: asked }] of waiting.entries()) {
          expect(over.has(id)).toBe(false);
          if ((answered & (1 << index)) !== 0) answers[id] = { kind: "result", result: `to ${asked?.text ?? "nothing"}` };
        }
        try {
          const result = await runToolLoop({ ...options, journal: store.open({ afterRecords }), answers });
          Object.assign(given, answers);
          for (const id of Object.keys(answers)) over.add(id);
          if (result.status === "suspended") return false;
          const expected = calls.map((count, at) => Array.from({ length: count }, (_, n) => `to call_i0_${at}: ${n}?`));
          expect(answersOf(result).map(({ result: data }) => data)).toEqual(expected);
          return true;
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
          return false;
        }
      };
      for (const life of lives) await live(life);
      let isDone = false;
      for (let count = 0; count < 12 && !isDone; count += 1)
        isDone = await live({ answered: 7, repeats: true, afterRecords: undefined });
      expect(isDone).toBe(true);
    }),
    { numRuns: 25 },
  );
});
