import { describe, expect, it } from "vitest";
import { type LoopOptions, memoryJournal, type Message, runToolLoop, type SavedJournal } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { text } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { outline, scriptModel, start, tooLong } from "./compaction-stage.ts";

const rules = { when: 3_500, keep: 1_500 };
const search = tool("search", (args) => `${JSON.stringify(args)} ${"x".repeat(3_980)}`, { replay: "safe" });

function savedOf(journal: unknown): SavedJournal {
  return JSON.parse(JSON.stringify(journal)) as SavedJournal;
}

/** True for the records up to the summary in iteration 4. */
const isBeforeStream = (key: string): boolean => !/^i(?:4\/(?!request\/@compaction\/)|5)/.test(key);

describe("a resumed run that began with compactMessages", () => {
  it.for([
    ["a nearly full context", rules, undefined],
    ["a refused request", {}, 7],
  ] as const)("after %s, sends the same requests, no matter at which record it crashed", async ([, compaction, limit]) => {
    const refuse = ({ messages }: { readonly messages: readonly Message[] }) =>
      limit !== undefined && messages.length > limit ? tooLong : undefined;
    const whole = start({ calls: 5, refuse }, compaction);
    const expected = await whole.result;
    const steps = Object.keys(savedOf(expected.journal).steps).length;
    for (let records = 1; records < steps; records += 1) {
      const store = createDurableStore();
      const requests: string[][] = [];
      const summaries: string[] = [];
      const options = (afterRecords?: number): LoopOptions => {
        const model = scriptModel({
          calls: 5,
          refuse: (request) => {
            requests[request.iteration] = [...outline(request.messages)];
            return refuse(request);
          },
          summary: () => {
            summaries.push("written");
            return text("The summary.");
          },
        });
        return {
          provider: model.provider,
          messages: [{ role: "user", content: "Go." }],
          tools: [search],
          middleware: [compactMessages(compaction)],
          runId: `compacted-${records}`,
          journal: store.open({ afterRecords }),
        };
      };
      await expect(runToolLoop(options(records))).rejects.toThrow("The process died.");
      const recordedBefore = [...store.records.keys()].some((key) => key.endsWith("/@compaction/summary"));
      const writtenBefore = summaries.length;
      const result = await runToolLoop(options());
      expect(requests).toEqual(whole.requests.map(({ messages }) => outline(messages)));
      if (recordedBefore) expect(summaries.length).toBe(writtenBefore);
      expect([result.status, result.compaction, result.messages]).toEqual([
        expected.status,
        expected.compaction,
        expected.messages,
      ]);
    }
  });

  it("replays the events, the usage and the summary without a request", async () => {
    const first = start({ calls: 5 }, rules, { runId: "whole" });
    const { journal, usage, compaction, messages } = await first.result;
    const again = start({ calls: 5 }, rules, { runId: "whole", journal: replayJournal(memoryJournal(savedOf(journal))) });
    const replayed = await again.result;
    expect([replayed.usage, replayed.compaction, replayed.messages]).toEqual([usage, compaction, messages]);
    expect([again.requests.length, again.summaries.length]).toEqual([0, 0]);
    const ofBoth = [first, again].map(({ playing }) =>
      playing.recording.events.filter(({ type }) => type.startsWith("compaction-")).map(({ replayed: _, ...event }) => event),
    );
    expect(ofBoth[1]).toEqual(ofBoth[0]);
    expect(
      again.playing.recording.events.filter(({ type }) => type.startsWith("compaction-")).every((event) => event.replayed),
    ).toBe(true);
  });

  it("uses the recorded summary even with different options", async () => {
    const first = start({ calls: 5 }, rules, { runId: "without" });
    const { steps } = savedOf((await first.result).journal);
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => isBeforeStream(key)));
    const again = start(
      { calls: 5 },
      { when: 1_000_000, keep: 1_500 },
      { runId: "without", journal: memoryJournal({ steps: kept }) },
    );
    const { compaction } = await again.result;
    expect(again.requests.map(({ messages }) => outline(messages))).toEqual(
      first.requests.slice(4).map(({ messages }) => outline(messages)),
    );
    expect([compaction, again.summaries.length]).toEqual([{ summary: "The summary.", count: 7, kept: [0] }, 0]);
  });

  it("is refused before any request is sent if compactMessages is missing", async () => {
    const { journal } = await start({ calls: 5 }, rules, { runId: "removed" }).result;
    const again = start({ calls: 5 }, undefined, { runId: "removed", journal });
    await expect(again.result).rejects.toMatchObject({ code: "journal-mismatch", details: { field: "middleware" } });
    expect(again.requests.length).toBe(0);
  });

  it.for([
    ["after the run", () => true, "completed"],
    ["after the summary, before the request", isBeforeStream, "running"],
    ["before the summary", (key: string) => !/^i[45]\//.test(key), "running"],
  ] as const)("lets inspectJournal rebuild the messages from a journal cut %s", async ([, isKept, status]) => {
    const { result } = start({ calls: 5 }, rules, { runId: "inspected" });
    const whole = await result;
    const { steps } = savedOf(whole.journal);
    const journal = memoryJournal({ steps: Object.fromEntries(Object.entries(steps).filter(([key]) => isKept(key))) });
    const found = await inspectJournal(journal);
    expect(found.status).toBe(status);
    expect(outline(found.messages)).toEqual(outline(whole.messages).slice(0, status === "completed" ? 12 : 9));
  });

  it("lets inspectJournal rebuild usage and messages after a request was shortened", async () => {
    const { result } = start(
      { calls: 5, refuse: ({ messages }) => (messages.length > 7 ? tooLong : undefined) },
      {},
      { runId: "refused" },
    );
    const whole = await result;
    const found = await inspectJournal(whole.journal);
    expect([found.status, found.usage, found.messages]).toEqual(["completed", whole.usage, whole.messages]);
  });

  it("rejects a damaged record of a summary", async () => {
    const { result } = start({ calls: 5 }, rules, { runId: "damaged" });
    const { steps } = savedOf((await result).journal);
    const journal = memoryJournal({
      steps: { ...steps, "i4/request/@compaction/summary": { value: { kind: "compacted", tokensBefore: 1, tokensAfter: 1 } } },
    });
    await expect(start({ calls: 5 }, rules, { runId: "damaged", journal }).result).rejects.toMatchObject({
      code: "journal-damaged",
    });
  });
});

describe("compactMessages().startWith()", () => {
  it("shows the summary of an earlier run in the first request of the next run", async () => {
    const first = start({ calls: 5 }, rules);
    const { messages, compaction } = await first.result;
    const next: Message[] = [...messages, { role: "user", content: "And then?" }];
    const second = start({ calls: 6 }, rules, {
      messages: next,
      middleware: [compactMessages(rules).startWith(compaction)],
    });
    const { compaction: last } = await second.result;
    expect(outline(second.requests[0]?.messages ?? [])).toEqual([
      "user Go.",
      "summary: The summary.",
      "call c3",
      "result c3",
      "call c4",
      "result c4",
      "text Done.",
      "user And then?",
    ]);
    expect(last).toEqual(compaction);
  });

  it("summarizes a kept user message when a newer user message follows", async () => {
    const first = start({ calls: 5 }, rules);
    const { messages, compaction } = await first.result;
    const next: Message[] = [...messages, { role: "user", content: "And then?" }];
    const second = start({ calls: 9 }, rules, {
      messages: next,
      middleware: [compactMessages(rules).startWith(compaction)],
    });
    const { compaction: last } = await second.result;
    expect(outline(second.summaries[0]?.messages ?? [])[0]).toContain("User: Go.");
    expect(outline(second.requests.at(-1)?.messages ?? []).slice(0, 2)).toEqual(["user And then?", "summary: The summary."]);
    expect(last?.kept).toEqual([12]);
  });

  it("records its summary, so a resumed run starts with the same summary", async () => {
    const { messages, compaction } = await start({ calls: 5 }, rules).result;
    const store = createDurableStore();
    const options = (earlier: typeof compaction, afterRecords?: number): Partial<LoopOptions> => ({
      messages,
      runId: "continued",
      journal: store.open({ afterRecords }),
      middleware: [compactMessages(rules).startWith(earlier)],
    });
    await expect(start({ calls: 7 }, rules, options(compaction, 1)).result).rejects.toThrow("The process died.");
    const resumed = start({ calls: 7 }, rules, options(undefined));
    await resumed.result;
    expect(outline(resumed.requests[0]?.messages ?? [])[1]).toBe("summary: The summary.");
  });

  it.for([
    [{ summary: 1, count: 1, kept: [] }],
    [{ summary: "x", count: 1.5, kept: [] }],
    [{ summary: "x", count: 1, kept: [1] }],
    [{ summary: "x", count: 1, kept: "no" }],
  ])("throws for the invalid summary %j", ([earlier]) => {
    expect(() => compactMessages().startWith(earlier as never)).toThrow("startWith");
  });

  it.for([
    ["has more messages than the run", { summary: "Earlier.", count: 5, kept: [] }],
    ["keeps a message that is not from the user", { summary: "Earlier.", count: 3, kept: [1] }],
    ["would leave a result without its call", { summary: "Earlier.", count: 2, kept: [] }],
  ] as const)("rejects a summary before any request if the summary %s", async ([, earlier]) => {
    const { messages } = await start({ calls: 1 }, {}).result;
    const compaction = compactMessages().startWith(earlier);
    const next = start({ calls: 0 }, {}, { messages: messages.slice(0, 4), middleware: [compaction] });
    await expect(next.result).rejects.toMatchObject({ code: "invalid-option" });
    expect(next.requests.length).toBe(0);
  });
});
