import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LoopOptions, memoryJournal } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { manyTools } from "./catalog.ts";
import { clock, find, run } from "./search-stage.ts";

const done = text("Done.");

describe("withToolSearch: the order of loaded tools", () => {
  const names = manyTools.map(({ name }) => name);
  const step = fc.oneof(
    fc.record({ query: fc.constantFrom("github issue", "refund", "slack message user", "search", "customer price", "zzz") }),
    fc.record({ names: fc.array(fc.constantFrom(...names.slice(0, 40), "unknown_tool"), { minLength: 1, maxLength: 4 }) }),
  );

  it("depends only on the calls, with newly loaded tools last", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), async (steps, at) => {
        const script: readonly MockMessage[] = [
          ...steps.map((one) => ("query" in one ? find(one.query) : one.names.map((name) => toolCall(name)))),
          done,
        ];
        const more = (): Partial<LoopOptions> => ({
          tools: withToolSearch([clock, ...manyTools]),
          limits: { maxConsecutiveToolErrors: 100 },
        });
        const { lists, result } = await run(script, more());
        for (const [position, list] of lists.entries()) {
          const before = lists[position - 1] ?? [];
          expect(list.slice(0, before.length)).toEqual(before);
          expect(new Set(list).size).toBe(list.length);
        }
        const iteration = at % script.length;
        const { steps: recorded } = memoryJournal(JSON.parse(JSON.stringify(result.journal))).toJSON();
        const kept = Object.entries(recorded).filter(([key]) => Number(/^i(\d+)\//.exec(key)?.[1] ?? -1) < iteration);
        const again = await run(script.slice(iteration), {
          ...more(),
          journal: memoryJournal({ steps: Object.fromEntries(kept) }),
        });
        expect(again.lists).toEqual(lists.slice(iteration));
      }),
      { numRuns: 15 },
    );
  });
});
