// Ends runs with stop conditions, with a tool that takes the final answer as its arguments, and with loop detection.

import assert from "node:assert/strict";
import { z } from "zod";
import {
  createLoopEvents,
  defineTool,
  detectLoops,
  hasToolCall,
  iterationCountIs,
  type Message,
  runToolLoop,
  type StopCondition,
  stopWhen,
  tokenBudget,
} from "turnwright";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "What makes the tides?" }];
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => `A page about ${query}`,
});
const tools = [search];

{
  const tokens = usage({ inputTokens: 6_000, outputTokens: 20 });
  const provider = createMockProvider(() => [text("Looking further. "), toolCall("search", { query: "tides" }), tokens]);
  // #region several
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    middleware: [stopWhen([iterationCountIs(10), tokenBudget(20_000)])],
  });
  // The run ended after the fourth response, with the status "completed" and the reason { kind: "stop-condition" }.
  // `pendingCalls` has the call in the fourth response.
  // #endregion several
  assert.deepEqual([result.status, result.reason, result.iterations], ["completed", { kind: "stop-condition" }, 4]);
  assert.equal(result.pendingCalls.length, 1);
}

{
  const provider = createMockProvider([toolCall("search", { query: "tides" }), text("I am sorry, I cannot say.")]);
  // #region own
  const givesUp: StopCondition = ({ response, toolCallsExecuted }) =>
    toolCallsExecuted > 0 && response.text.includes("sorry") ? { kind: "stop", reason: "gave up" } : { kind: "continue" };
  const { reason } = await runToolLoop({ provider, tools, messages, middleware: [stopWhen(givesUp)] });
  // `reason` is { kind: "stop-condition", reason: "gave up" }.
  // #endregion own
  assert.deepEqual(reason, { kind: "stop-condition", reason: "gave up" });
}

{
  const provider = createMockProvider([
    toolCall("search", { query: "tides" }),
    toolCall("final_answer", { answer: "The moon.", sources: ["A page about tides"] }),
  ]);
  // #region final-answer
  const answerSchema = z.object({ answer: z.string(), sources: z.array(z.string()) });
  const finalAnswer = defineTool({
    name: "final_answer",
    description: "Gives the answer, once you know it",
    inputSchema: answerSchema,
    execute: () => undefined, // never runs
  });
  const { reason, pendingCalls } = await runToolLoop({
    provider,
    tools: [...tools, finalAnswer],
    messages,
    toolChoice: "required",
    middleware: [stopWhen(hasToolCall("final_answer"))],
  });
  const call = pendingCalls.find(({ name }) => name === "final_answer");
  const answer = answerSchema.safeParse(call?.args); // not validated yet: the call did not run
  // #endregion final-answer
  assert.equal(reason.kind, "stop-condition");
  assert.equal(answer.data?.answer, "The moon.");
}

{
  const provider = createMockProvider((_request, index) => toolCall("search", { query: index % 2 === 0 ? "moon" : "tides" }));
  const seen: string[] = [];
  const console = { log: (line: string): void => void seen.push(line) };
  // #region loop
  const events = createLoopEvents();
  events.on("loop-detected", ({ toolName, count, cycle }) => console.log(`${toolName}: ${cycle} iterations, ${count} times`));
  const { reason } = await runToolLoop({
    provider,
    tools,
    messages,
    events,
    middleware: [detectLoops({ action: "stop" })],
  });
  // The model searched for "moon", "tides", "moon", "tides", "moon", and asked for "tides" again.
  // `reason` is { kind: "loop-detected", toolName: "search", count: 3 }.
  // It writes "search: 2 iterations, 3 times".
  // #endregion loop
  assert.deepEqual(reason, { kind: "loop-detected", toolName: "search", count: 3 });
  assert.deepEqual(seen, ["search: 2 iterations, 3 times"]);
}
