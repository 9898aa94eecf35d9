// Tools that start a nested run: with `defineAgentTool`, or with `runNested`.

import assert from "node:assert/strict";
import { z } from "zod";
import {
  createLoopEvents,
  defineAgentTool,
  defineTool,
  type Message,
  type NestedLoopOptions,
  runToolLoop,
  toolResult,
  runNested,
} from "turnwright";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "What is the tide in Bergen today?" }];
const replies = [
  toolCall("research", { question: "tide in Bergen" }),
  toolCall("search", { query: "tide" }),
  text("1.4 m at noon."),
  text("High water is 1.4 m, at noon."),
];
const provider = createMockProvider(replies);
// #region agent
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => `A page about ${query}`,
});
const research = defineAgentTool({
  name: "research",
  description: "Looks a question up, and answers it in one sentence",
  inputSchema: z.object({ question: z.string() }),
  prepare: ({ question }) => ({
    system: "Answer in one sentence. Look it up first.",
    messages: [{ role: "user", content: question }],
    tools: [search],
    limits: { maxIterations: 5, wallClockMs: 60_000 },
  }),
});
const result = await runToolLoop({ provider, tools: [research], messages });
// The nested run searched, and answered "1.4 m at noon." The outer run used this result for its own answer.
// #endregion agent
assert.equal(result.text, "High water is 1.4 m, at noon.");
assert.equal(result.toolCallsExecuted, 2);
const heard: string[] = [];
const events = createLoopEvents();
events.on("tool-start", ({ name, path = [] }) => heard.push(`${name} ${path.length}`));
await runToolLoop({ provider: createMockProvider(replies), tools: [research], messages, events });
assert.deepEqual(heard, ["research 0", "search 1"]);

{
  const provider = createMockProvider([
    toolCall("research", { question: "tide in Bergen" }),
    [text("It rises. "), toolCall("search", { query: "tide" })],
    toolCall("research", { question: "tide in Voss" }),
    fail({ status: 401, message: "bad key" }),
    text("I could not find out."),
  ]);
  const events = createLoopEvents();
  // #region to-result
  const research = defineAgentTool({
    name: "research",
    description: "Looks a question up",
    inputSchema: z.object({ question: z.string() }),
    // The type `NestedLoopOptions` makes the compiler report unknown options.
    prepare: ({ question }): NestedLoopOptions => ({
      messages: [{ role: "user", content: question }],
      tools: [search],
      limits: { maxIterations: 1 },
    }),
    toResult: ({ status, text, error }) => {
      if (status === "error") return toolResult({ success: false, message: `Nothing was found: ${error?.message ?? "a limit"}` });
      return { found: text, isComplete: status === "completed" }; // at a limit: the text so far
    },
  });
  // #endregion to-result
  const heard: string[] = [];
  const note = (line: string): void => void heard.push(line);
  events.on("tool-end", ({ runId, callId, name, outcome, result }) => {
    if (outcome === "failed") note(`${runId} ${callId}: ${name} failed, ${JSON.stringify(result)}`);
  });
  events.on("run-end", ({ path, reason }) => {
    if (path !== undefined) note(`the run in ${path.join(", ")} ended: ${reason.kind}`);
  });
  await runToolLoop({ provider, tools: [research], messages, events, runId: "r1" });
  assert.deepEqual(provider.requests[2]?.messages.at(-1), {
    role: "tool",
    results: [{ callId: "call_i0_0", name: "research", outcome: "completed", result: { found: "It rises.", isComplete: false } }],
  });
  assert.deepEqual(heard, [
    "the run in call_i0_0 ended: max-iterations",
    "the run in call_i1_0 ended: provider-error",
    'r1 call_i1_0: research failed, {"status":"tool_execution_failed","reason":"Nothing was found: bad key","tool_name":"research"}',
  ]);
}

{
  // The compiler does not find the mistakes in these tools. Their calls fail, the model reads an error message, and the run goes
  // on.
  const inputSchema = z.object({});
  const misspelt = defineAgentTool({ name: "misspelt", description: "", inputSchema, prepare: () => ({ messages, limit: {} }) });
  const throwing = defineAgentTool({
    name: "throwing",
    description: "",
    inputSchema,
    prepare: () => {
      throw new Error("The index is gone.");
    },
  });
  const failing = defineAgentTool({ name: "failing", description: "", inputSchema, prepare: () => ({ messages }) });
  const provider = createMockProvider([
    [toolCall("misspelt"), toolCall("throwing")],
    toolCall("failing"),
    fail({ status: 401, message: "bad key" }),
    text("That did not work."),
  ]);
  const { functionHistory, text: said } = await runToolLoop({ provider, tools: [misspelt, throwing, failing], messages });
  assert.deepEqual([functionHistory.map(({ outcome }) => outcome), said], [["failed", "failed", "failed"], "That did not work."]);
  assert.deepEqual(
    functionHistory.map(({ functionResponse }) => functionResponse.response.result),
    [
      ["misspelt", 'There is no option "limit". Did you mean "limits"?'],
      ["throwing", "The index is gone."],
      ["failing", "The agent failing ended as error (provider-error: bad key)."],
    ].map(([tool_name, reason]) => ({ status: "tool_execution_failed", reason, tool_name })),
  );
}

{
  const provider = createMockProvider([
    [toolCall("answer_checked"), usage({ inputTokens: 10, outputTokens: 5 })],
    [text("1.4 m"), usage({ inputTokens: 20, outputTokens: 3 })],
    [text("It is 1.4 m."), usage({ inputTokens: 30, outputTokens: 4 })],
  ]);
  // #region inside
  const answerChecked = defineTool({
    name: "answer_checked",
    description: "Answers, and checks the answer",
    inputSchema: z.object({}),
    async execute(_args, context) {
      const draft = await runNested(context, { messages: [{ role: "user", content: "How high is the tide in Bergen?" }] });
      return { answer: draft.text, looksRight: /\d m$/.test(draft.text) };
    },
  });
  const { usage: used } = await runToolLoop({ provider, tools: [answerChecked], messages });
  // `used` counts the tokens of all three requests, including the request of the nested run.
  // #endregion inside
  assert.equal(used.totalTokens, 72);
}
