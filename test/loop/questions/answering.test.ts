import { z } from "zod";
import { describe, expect, it } from "vitest";
import { ask, type ToolContext } from "turnwright";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";

import { answersOf, outcomesOf, tool } from "../play.ts";
import { byAnn, city, type Decisions, inOslo, refusalOf, setUp, twoQuestions } from "./question-stage.ts";

describe("a question that a tool asks", () => {
  it("suspends the call until an answer runs the tool again from the start", async () => {
    const { ran, store, start } = setUp(twoQuestions);
    const first = start();
    const waits = { callId: "call_i0_0", name: "book", args: {}, waitsFor: "result" };
    const asked = { text: "Which city?", schema: z.toJSONSchema(city) };
    const { $schema: _, additionalProperties: __, ...schema } = asked.schema;
    const cityQuestion = { ...asked, schema };
    expect((await first.result).reason).toEqual({
      kind: "result-required",
      calls: [{ ...waits, id: "call_i0_0", question: cityQuestion }],
    });
    expect((await first.result).pendingCalls).toMatchObject([{ callId: "call_i0_0", question: cityQuestion }]);
    expect((await inspectJournal(store.open())).pendingCalls).toMatchObject([
      { id: "call_i0_0", state: "awaiting-result", waitKey: "wait/call_i0_0/1", question: cityQuestion },
    ]);
    const nameQuestion = { text: "Which name?", schema: { type: "string" } };
    expect((await start(inOslo).result).reason).toEqual({
      kind: "result-required",
      calls: [{ ...waits, id: "call_i0_0#2", question: nameQuestion }],
    });
    expect((await inspectJournal(store.open())).pendingCalls).toMatchObject([{ id: "call_i0_0#2", question: nameQuestion }]);
    const last = start({ ...inOslo, ...byAnn });
    const result = await last.result;
    expect([answersOf(result)[0]?.result, result.toolCallsExecuted]).toEqual(["Oslo for Ann", 1]);
    expect(ran).toEqual(["start", "start", "Oslo", "start", "Oslo"]);
    expect(last.recording.events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))).toEqual(["completed"]);
    // A replay runs the code of the tool over its records.
    const replayed = await start(undefined, { journal: replayJournal(store.open()) }).result;
    expect([replayed.messages, ran.length]).toEqual([result.messages, 7]);
    expect(last.clock.pending).toBe(0);
  });

  it("is not answered by a decision for an earlier question", async () => {
    const { start } = setUp(twoQuestions);
    await start().result;
    await start(inOslo).result;
    const late = { call_i0_0: { kind: "result", result: "Bob" } } satisfies Decisions;
    expect(await refusalOf(start(late))).toMatchObject(["unknown-decision", expect.stringContaining('"call_i0_0"')]);
    expect((await start(inOslo).result).reason).toMatchObject({ calls: [{ id: "call_i0_0#2" }] });
  });

  it("stays open if the answer does not match the question's JSON Schema", async () => {
    const { ran, start } = setUp(twoQuestions);
    await start().result;
    const wrong = { call_i0_0: { kind: "result", result: { city: 7 } } } satisfies Decisions;
    expect(await refusalOf(start(wrong))).toMatchObject([
      "invalid-decision",
      expect.stringContaining("does not fit the schema of the question: city: must be of the type string."),
    ]);
    expect(await refusalOf(start({ call_i0_0: { kind: "result", result: {} } }))).toMatchObject([
      "invalid-decision",
      expect.stringContaining("city: is required"),
    ]);
    expect(await refusalOf(start({ call_i0_0: { kind: "approve" } }))).toMatchObject(["invalid-decision", expect.anything()]);
    const fromPage = { call_i0_0: { ...inOslo.call_i0_0, fromPage: true } };
    expect(await refusalOf(start(fromPage))).toMatchObject(["invalid-decision", expect.stringContaining("comes from a page")]);
    expect(ran).toEqual(["start"]);
    expect((await start(inOslo).result).reason).toMatchObject({ calls: [{ id: "call_i0_0#2" }] });
  });

  it("is asked again with the issues if the answer breaks a rule in the schema", async () => {
    const { start } = setUp((context) => ask(context, { question: "Which city?", schema: city }));
    await start().result;
    const lost = { call_i0_0: { kind: "result", result: { city: "Atlantis" } } } satisfies Decisions;
    const issues = [{ message: "there is no such city", path: ["city"] }];
    expect((await start(lost).result).reason).toMatchObject({
      calls: [{ id: "call_i0_0#2", question: { text: "Which city?", issues } }],
    });
    const found = { ...lost, "call_i0_0#2": inOslo.call_i0_0 };
    expect(answersOf(await start(found).result)[0]?.result).toEqual({ city: "Oslo" });
  });

  it("fails after 20 answers that break a rule in the schema", async () => {
    const { ran, start } = setUp((context) => ask(context, { question: "Which city?", schema: city }));
    const lost = { kind: "result", result: { city: "Atlantis" } } as const;
    const answers = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [at === 0 ? "call_i0_0" : `call_i0_0#${at + 1}`, lost]),
    );
    await start().result;
    for (let count = 1; count < 20; count += 1) {
      const given = Object.fromEntries(Object.entries(answers).slice(0, count));
      expect((await start(given).result).reason.kind).toBe("result-required");
    }
    const result = await start(answers).result;
    expect(JSON.stringify(answersOf(result)[0]?.result)).toContain("None of the 20 answers fits the question's schema.");
    expect(ran.length).toBe(21);
  });

  it("returns its schema's output to the tool", async () => {
    const { start } = setUp(async (context) => {
      const schema = z.object({ many: z.number().default(2), name: z.string().transform((name) => name.length) });
      const { many, name } = await ask(context, { question: "How many?", schema });
      return many + name;
    });
    await start().result;
    const result = await start({ call_i0_0: { kind: "result", result: { name: "Ann" } } }).result;
    expect(answersOf(result)[0]?.result).toBe(5);
  });

  it("makes ask() reject with the decision's error, which the tool may handle", async () => {
    const { start } = setUp((context) =>
      ask(context, { question: "Which city?" }).catch(({ message }: Error) => `no city: ${message}`),
    );
    await start().result;
    const result = await start({ call_i0_0: { kind: "failed", error: "Nobody is there." } }).result;
    expect(answersOf(result)[0]?.result).toBe("no city: Nobody is there.");
  });

  it("stays open if the tool catches errors from ask()", async () => {
    const ends: readonly ((context: ToolContext) => unknown)[] = [
      (context) => ask(context, { question: "Which city?" }).catch(() => "caught"),
      (context) => ask(context, { question: "Which city?" }).catch(() => ask(context, { question: "Another one?" })),
      (context) =>
        ask(context, { question: "Which city?" }).catch(() => {
          throw new Error("Something else.");
        }),
    ];
    for (const end of ends) {
      const { start } = setUp((context) => end(context));
      expect((await start().result).reason).toMatchObject({ calls: [{ question: { text: "Which city?" } }] });
    }
  });

  it("ends with the call if the tool does not await the answer", async () => {
    const { start } = setUp((context) => (void ask(context, { question: "Which city?" }), "not awaited"));
    const result = await start().result;
    expect([result.reason.kind, answersOf(result)[0]?.result]).toEqual(["answered", "not awaited"]);
  });

  it("is asked again, with a different id, if the tool asks a different question than before", async () => {
    let text1 = "Which city?";
    const { start } = setUp((context) => ask(context, { question: text1 }));
    await start().result;
    text1 = "Delete everything?";
    const asked = await start({ call_i0_0: { kind: "result", result: "Oslo" } }).result;
    expect(asked.reason).toMatchObject({ calls: [{ id: "call_i0_0~2", question: { text: "Delete everything?" } }] });
    const result = await start({ "call_i0_0~2": { kind: "result", result: "No." } }).result;
    expect(answersOf(result)[0]?.result).toBe("No.");
  });

  it("keeps its answer after a crash, and the tool runs again", async () => {
    const { ran, store, start } = setUp((context) => ask(context, { question: "Which?" }));
    const answers = { call_i0_0: { kind: "result", result: "this one" } } satisfies Decisions;
    await start().result;
    const crashed = start(answers, { journal: store.open({ within: "i0/call/0/book/outcome" }) });
    await expect(crashed.result).rejects.toThrow("The process died.");
    expect(answersOf(await start().result)[0]?.result).toBe("this one");
    expect(ran).toHaveLength(3);
  });

  it('gives its call the outcome "interrupted" if the run is stopped during the wait', async () => {
    const late = tool("late", (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    const script = createMockProvider([[toolCall("book"), toolCall("late")], text("Done.")]);
    const asking = tool("book", (_, context) => ask(context, { question: "Which city?" }), { durable: true });
    const playing = setUp(() => undefined).start(undefined, { provider: script, tools: [asking, late] });
    await playing.clock.flush();
    playing.control.stop();
    expect(outcomesOf(await playing.result)[0]).toBe("call_i0_0: interrupted");
  });
});

describe("runTool", () => {
  it("passes the answers to a tool that asks, and returns the question if its answer is missing", async () => {
    const book = tool("book", (_, context) => twoQuestions(context, () => {}));
    expect(await runTool(book)).toMatchObject({ kind: "deferred", question: { text: "Which city?" } });
    expect(await runTool(book, {}, { answers: [{ city: "Oslo" }] })).toMatchObject({
      kind: "deferred",
      question: { text: "Which name?" },
    });
    expect(await runTool(book, {}, { answers: [{ city: "Oslo" }, "Ann"] })).toMatchObject({
      kind: "completed",
      data: "Oslo for Ann",
    });
  });

  it("passes the answers to a tool that waits in its process, and asks again after an invalid answer", async () => {
    const book = tool("book", (_, context) =>
      ask(context, { question: "Which city?", schema: city, fromPage: true, wait: true }),
    );
    const answers = [{ city: "Atlantis" }, { city: "Oslo" }];
    expect(await runTool(book, {}, { answers })).toMatchObject({ kind: "completed", data: { city: "Oslo" } });
    expect(await runTool(book, {}, { answers: answers.slice(0, 1) })).toMatchObject({
      kind: "deferred",
      fromPage: true,
      question: { text: "Which city?", issues: [{ message: "there is no such city", path: ["city"] }] },
    });
  });
});
