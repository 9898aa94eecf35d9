import { describe, expect, it } from "vitest";
import { deferTools, memoryJournal, type Message, type SavedJournal } from "turnwright";
import { compactMessages, withToolSearch } from "turnwright/middleware";
import { deferredTool } from "../tool-search/catalog.ts";
import { start } from "./compaction-stage.ts";

const rules = { when: 3_500, keep: 1_500 };

/** Values that are not a compaction record, or that are the record of other messages. */
const invalid: readonly unknown[] = [
  null,
  "x",
  { summary: 1, count: 1, kept: [] },
  { summary: "x", count: 1, kept: 5 },
  { summary: "x", count: -3, kept: [] },
  { summary: "x", count: 1.5, kept: [] },
  { summary: "x", count: 3, kept: [0, 0] },
  { summary: "x", count: 3, kept: ["0"] },
];
const foreign: readonly unknown[] = [
  { summary: "x", count: 1_000_000_000, kept: [] },
  { summary: "x", count: 4, kept: [] },
  { summary: "x", count: 4, kept: [1] },
];
const named = [...invalid, ...foreign].map((value) => [JSON.stringify(value), value] as const);

async function record(): Promise<SavedJournal["steps"]> {
  const { journal } = await start({ calls: 5 }, rules, { runId: "edited" }).result;
  return (JSON.parse(JSON.stringify(journal)) as SavedJournal).steps;
}

/** Resumes the run from its records before iteration 4, in which the compaction was edited. */
async function replay(steps: object): Promise<unknown> {
  return start({ calls: 5 }, rules, { runId: "edited", journal: memoryJournal({ steps: steps as SavedJournal["steps"] }) })
    .result;
}

describe("compactMessages", () => {
  it.for(named)("rejects a resumed run whose recorded summary was edited to %s", async ([, compaction]) => {
    const steps = Object.entries(await record()).filter(([key]) => !/^i(?:4\/(?!request\/@compaction\/)|5)/.test(key));
    const edited = steps.map(([key, step]) => [
      key,
      key === "i4/request/@compaction/summary"
        ? JSON.parse(JSON.stringify(step).replace(/"compaction":\{.*?\}/, `"compaction":${JSON.stringify(compaction)}`))
        : step,
    ]);
    await expect(replay(Object.fromEntries(edited))).rejects.toMatchObject({ code: "journal-damaged" });
  });

  it.for(named.filter(([, compaction]) => compaction !== null))(
    "rejects a resumed run whose earlier summary was edited to %s",
    async ([, compaction]) => {
      const { run, begin } = await record();
      const steps = { run, begin, "i0/request/@compaction/earlier": { value: compaction } };
      await expect(replay(steps)).rejects.toMatchObject({ code: "journal-damaged" });
    },
  );

  it.for(invalid.map((value) => [JSON.stringify(value), value] as const))(
    "throws in startWith() for the invalid summary %s",
    ([, value]) => {
      expect(() => compactMessages().startWith(value as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
    },
  );
});

describe("compactMessages with deferred tools", () => {
  it("does not count tool definitions that are not sent", async () => {
    const many = Array.from({ length: 100 }, (_, index) => deferredTool(`tool_${index}`, "d".repeat(400)));
    const earlier: readonly Message[] = [
      { role: "user", content: "x".repeat(4_000) },
      { role: "assistant", content: [{ type: "text", text: "y".repeat(2_000) }] },
    ];
    const { summaries, result } = start(
      { calls: 0 },
      { when: 3_000, keep: 100 },
      { tools: withToolSearch(many), middleware: [deferTools()], messages: [...earlier, { role: "user", content: "Go." }] },
    );
    await result;
    expect(summaries).toEqual([]);
  });
});
