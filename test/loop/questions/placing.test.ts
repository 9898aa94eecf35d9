import { z } from "zod";
import { describe, expect, it } from "vitest";
import { ask, memoryJournal, type SavedJournal, runNested } from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

import { nesting, question } from "../nested/nesting.ts";
import { answersOf, outcomesOf, tool } from "../play.ts";
import { city, type Decisions, inOslo, setUp, twoQuestions } from "./question-stage.ts";

describe("a question that a tool asks", () => {
  it("comes after the approval of its call, and has its own id", async () => {
    const asking = tool("book", (_, context) => ask(context, { question: "Which city?", fromPage: true }), {
      needsApproval: true,
      durable: true,
    });
    const { store, start } = setUp(() => undefined, { tools: [asking] });
    expect((await start().result).reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0" }] });
    const approved = { call_i0_0: { kind: "approve" } } satisfies Decisions;
    expect((await start(approved).result).reason).toMatchObject({
      kind: "result-required",
      calls: [{ id: "call_i0_0#2", fromPage: true }],
    });
    expect((await inspectJournal(store.open())).pendingCalls).toMatchObject([{ id: "call_i0_0#2", fromPage: true }]);
    const answered = { ...approved, "call_i0_0#2": { kind: "result", result: "Oslo", fromPage: true } } satisfies Decisions;
    expect(answersOf(await start(answered).result)[0]?.result).toBe("Oslo");
  });

  it("names its call if it is a later question, asked again with other words", async () => {
    const names = ["Which name?", "Whose name?"];
    const { start } = setUp(async (context) => {
      const found = await ask(context, { question: "Which city?", schema: city });
      return `${found.city} for ${await ask(context, { question: names[0] ?? "" })}`;
    });
    await start().result;
    expect((await start(inOslo).result).reason).toMatchObject({ calls: [{ id: "call_i0_0#2", callId: "call_i0_0" }] });
    names.shift();
    expect((await start(inOslo).result).reason).toMatchObject({ calls: [{ id: "call_i0_0#2~2", callId: "call_i0_0" }] });
  });

  it("suspends the outer run, and reports the call's path, if an agent tool contains the call", async () => {
    const inside = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("book")] : text("Inside.")));
    const asking = tool("book", (_, context) => ask(context, { question: "Which city?" }), { durable: true });
    const agent = nesting("agent tool", "agent", () => ({ messages: question, provider: inside, tools: [asking] }));
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("agent")] : text("Done.")));
    const { store, start } = setUp(() => undefined, { tools: [agent], provider });
    const id = "call_i0_0/call_i0_0";
    expect((await start().result).reason).toMatchObject({ calls: [{ id, question: { text: "Which city?" } }] });
    expect((await inspectJournal(store.open())).pendingCalls).toMatchObject([{}, { id, question: { text: "Which city?" } }]);
    expect((await start({ [id]: { kind: "result", result: "Oslo" } }).result).reason.kind).toBe("answered");
  });

  it("fails the call if the tool is not durable, or belongs to a run inside an ordinary tool", async () => {
    const plain = tool("book", (_, context) => ask(context, { question: "Which city?" }));
    const { start } = setUp(() => undefined, { tools: [plain] });
    expect(JSON.stringify(answersOf(await start().result)[0]?.result)).toContain(
      'needs \\"durable: true\\" to use ask without \\"wait: true\\".',
    );
    const asking = tool("ask", (_, context) => ask(context, { question: "Which city?" }), { durable: true });
    const outer = tool("book", async (_, context) => {
      const provider = createMockProvider([[toolCall("ask")], text("Inside.")]);
      return answersOf(await runNested(context, { messages: question, provider, tools: [asking] }))[0]?.result;
    });
    const nested = await setUp(() => undefined, { tools: [outer] }).start().result;
    expect(JSON.stringify(answersOf(nested)[0]?.result)).toContain(
      "This nested run cannot wait for answers. Start it with defineAgentTool.",
    );
  });

  it("does not make tool.retry start another attempt", async () => {
    let starts = 0;
    const asking = tool(
      "book",
      async (_, context) => {
        starts += 1;
        await runNested(context, { messages: question, provider: createMockProvider([text("Inside.")]) });
        return ask(context, { question: "Which city?" });
      },
      { durable: true, idempotent: true, retry: { maxAttempts: 3 } },
    );
    const { store, start } = setUp(() => undefined, { tools: [asking] });
    const first = await start().result;
    expect(starts).toBe(1);
    const last = await start({ call_i0_0: { kind: "result", result: "Oslo" } }).result;
    const [own, nested] = [
      last.streamResults.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0),
      last.usage.totalTokens,
    ];
    expect([starts, first.usage.totalTokens < nested, nested - own]).toEqual([
      2,
      true,
      first.usage.totalTokens - (first.streamResults[0]?.usage?.totalTokens ?? 0),
    ]);
    expect((await inspectJournal(store.open())).usage).toEqual(last.usage);
  });

  it("is asked again, with a different id, if its record in the journal is damaged", async () => {
    const { store, start } = setUp(twoQuestions);
    await start().result;
    const saved = JSON.parse(
      JSON.stringify(Object.fromEntries([...store.records].map(([key, one]) => [key, JSON.parse(one) as unknown]))),
    ) as SavedJournal["steps"];
    for (const damaged of [
      { text: 7, schema: {} },
      "Which city?",
      { text: "Which?" },
      { text: "Which?", schema: {}, issues: "no" },
    ]) {
      const key = "wait/call_i0_0/1/asked";
      const { what, facts } = saved[key] as { readonly what: string; readonly facts: object };
      const steps = { ...saved, [key]: { what, facts: { ...facts, question: damaged } } };
      const journal = memoryJournal({ steps });
      expect((await start(undefined, { journal }).result).reason).toMatchObject({
        calls: [{ id: "call_i0_0~2", question: { text: "Which city?" } }],
      });
    }
  });

  it("fails the call with an error for the model if its fields are invalid", async () => {
    for (const fields of [
      {},
      { question: " " },
      { question: "Which?", schema: {} },
      { question: "Which?", pages: true },
      undefined,
    ]) {
      const { start } = setUp((context) => ask(context, fields as never));
      expect(outcomesOf(await start().result)).toEqual(["call_i0_0: failed"]);
    }
    const date = z.object({ on: z.date() });
    const { start } = setUp((context) => ask(context, { question: "When?", schema: date }));
    expect(JSON.stringify(answersOf(await start().result)[0]?.result)).toContain("cannot be converted to JSON Schema");
  });
});
