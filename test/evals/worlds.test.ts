import { defineTool, runToolLoop } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { defineEvaluation, evaluate, simulateUser, stubTools } from "turnwright/evals";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeFolder } from "../journal/folder.ts";

const ran: string[] = [];
const realTools = ["get_order", "refund"].map((name) =>
  defineTool({
    name,
    description: `Does ${name}`,
    inputSchema: z.object({ id: z.number() }),
    execute: ({ id }) => {
      ran.push(`${name} ${id}`);
      return "real";
    },
  }),
);

async function resultsOf(tools: typeof realTools | ReturnType<typeof stubTools>): Promise<readonly (readonly unknown[])[]> {
  ran.length = 0;
  const provider = createMockProvider([
    [toolCall("get_order", { id: 7 }), toolCall("refund", { id: 7 }), toolCall("refund", { id: "7" })],
    text("Done."),
  ]);
  const { calls } = await runToolLoop({ provider, tools, messages: [{ role: "user", content: "?" }] });
  return calls.map(({ outcome, result }) => [outcome, result]);
}

describe("stubTools", () => {
  it("replaces results, keeps the schemas, and lets no other tool run", async () => {
    const results = await resultsOf(stubTools(realTools, { get_order: { status: "paid" } }));
    expect(results[0]).toEqual(["completed", { status: "paid" }]);
    expect(results[1]?.[0]).toBe("failed");
    expect(JSON.stringify(results[1])).toContain('The tool \\"refund\\" is not available in this trial.');
    expect(JSON.stringify(results[2])).toContain("id");
    expect(ran).toEqual([]);
  });

  it("runs stub functions, and other tools that are allowed to run", async () => {
    const results = await resultsOf(
      stubTools(realTools, { refund: ({ id }: { readonly id: number }) => `stub ${id}` }, { others: "run" }),
    );
    expect(results.slice(0, 2)).toEqual([
      ["completed", "real"],
      ["completed", "stub 7"],
    ]);
    expect(ran).toEqual(["get_order 7"]);
  });

  it("refuses a stub for a missing tool", () => {
    expect(() => stubTools(realTools, { refunds: 1 })).toThrow(/"stubs\.refunds".*Did you mean "stubs\.refund"/);
  });
});

const assistant = (answers: readonly string[]) => {
  const conversation = createConversation({
    id: "chat",
    store: memoryConversationStore(),
    options: { provider: createMockProvider(answers.map((answer) => text(answer))) },
  });
  return { conversation, send: (message: string) => conversation.send(message) };
};

describe("simulateUser", () => {
  it("lets the model write the user's messages until the user is satisfied", async () => {
    const { send } = assistant(["Which order?", "It is paid back."]);
    const provider = createMockProvider([
      text("I want my money."),
      text("Order 7."),
      toolCall("end_conversation", { content: true }),
    ]);
    expect(await simulateUser({ provider, goal: "Your money back for order 7", send })).toEqual({
      ended: "content",
      turns: [
        { user: "I want my money.", assistant: "Which order?" },
        { user: "Order 7.", assistant: "It is paid back." },
      ],
    });
    // The user sees its own messages as those of the assistant.
    expect(provider.requests[2]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(provider.requests[0]?.system).toContain("Your money back for order 7");
  });

  it.each([
    ["gave-up", [text("Hi"), toolCall("end_conversation", { content: false })], ["No."]],
    ["max-turns", [text("Hi"), text("Again")], ["No.", "No."]],
    ["user-failed", [text("Hi"), fail({ status: 400 })], ["No."]],
    ["agent-ended", [text("Hi")], []],
  ] as const)("reports the end of the conversation as %s", async (ended, script, answers) => {
    const provider = createMockProvider(script);
    const talk = await simulateUser({ provider, goal: "g", send: assistant(answers).send, maxTurns: 2 });
    expect(talk.ended).toBe(ended);
  });

  it("begins with the given message", async () => {
    const provider = createMockProvider([toolCall("end_conversation", { content: true })]);
    const talk = await simulateUser({ provider, goal: "g", send: assistant(["Hello."]).send, first: "Hi!" });
    expect(talk.turns).toEqual([{ user: "Hi!", assistant: "Hello." }]);
  });

  it("is recorded with its trial", async () => {
    const script = createMockProvider([text("Hi"), toolCall("end_conversation", { content: true })]);
    const evaluation = defineEvaluation({
      name: "talks",
      cases: [{ id: "a" }],
      directory: makeFolder(),
      keep: "all",
      run(_item, trial) {
        const options = { provider: trial.isReplay ? createMockProvider([]) : createMockProvider([text("Hello.")]) };
        const conversation = createConversation({
          id: "chat",
          store: memoryConversationStore(),
          options,
          wrapOptions: trial.options,
        });
        const provider = trial.isReplay ? createMockProvider([]) : script;
        return simulateUser({ provider, goal: "g", send: (message) => conversation.send(message) }, trial);
      },
      check: ({ ended, turns }) => ended === "content" && turns[0]?.assistant === "Hello.",
    });
    expect((await evaluate(evaluation)).cases[0]?.trials[0]).toMatchObject({ status: "passed" });
    expect((await evaluate(evaluation, { replay: true })).cases[0]?.trials[0]).toMatchObject({ status: "passed" });
  });
});
