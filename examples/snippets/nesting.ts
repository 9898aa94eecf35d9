// A tool whose work is a run of its own, in its two forms.

import assert from "node:assert/strict";
import { z } from "zod";
import { createLoopEvents, defineAgentTool, defineTool, runToolLoop, type Message } from "turnwright";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "What is the tide in Bergen today?" }];
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => `A page about ${query}`,
});

{
  const provider = createMockProvider([
    toolCall("research", { question: "tide in Bergen" }),
    toolCall("search", { query: "tide" }),
    text("1.4 m at noon."),
    text("High water is 1.4 m, at noon."),
  ]);
  const heard: string[] = [];
  const events = createLoopEvents();
  events.on("tool-start", ({ name, path = [] }) => heard.push(`${name} ${path.length}`));
  // #region agent
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
  const result = await runToolLoop({ provider, tools: [research], messages, events });
  // The inner run searched and said "1.4 m at noon."; the outer one answered with it.
  // #endregion agent
  assert.equal(result.text, "High water is 1.4 m, at noon.");
  assert.deepEqual(heard, ["research 0", "search 1"]);
  assert.equal(result.toolCallsExecuted, 2);
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
      const draft = await context.runToolLoop({ messages: [{ role: "user", content: "How high is the tide in Bergen?" }] });
      return { answer: draft.text, looksRight: /\d m$/.test(draft.text) };
    },
  });
  const { usage: used } = await runToolLoop({ provider, tools: [answerChecked], messages });
  // Tokens of all three streams, the one inside the tool included.
  // #endregion inside
  assert.equal(used.totalTokens, 72);
}
