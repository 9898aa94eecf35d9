// A lead with members, and the tree of their runs.

import assert from "node:assert/strict";
import { createLoopEvents, defineTool, finalAnswer, type Message, runToolLoop, streamToolLoop } from "turnwright";
import { createRunTree, createTeam, renderTree, showTeam } from "turnwright/middleware";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Compare the tides of Bergen and Oslo." }];
const spent = usage({ inputTokens: 900, outputTokens: 100 });
const createModel = () =>
  createMockProvider(({ messages: said }) => {
    if (said.length === 1 && JSON.stringify(said).includes("Compare"))
      return [toolCall("researcher", { task: "Bergen" }), toolCall("researcher", { task: "Oslo" }), spent];
    return [text("1.4 m and 0.3 m."), spent];
  });

// #region team
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => `A page about ${query}`,
});
const team = createTeam({
  lead: { system: "Split the question into tasks. Then compare the reports." },
  members: {
    researcher: {
      description: "Researches one question",
      system: "Answer in one sentence. Look it up first.",
      tools: [search],
      limits: { maxTokens: 50_000, wallClockMs: 60_000 },
      maxTasks: 6,
    },
  },
  limits: { maxTokens: 300_000 },
  maxParallel: 3,
});
// #endregion team

{
  const provider = createModel();
  const process = { stdout: { write: () => true } };
  // #region run
  const events = createLoopEvents();
  const stop = showTeam(events, { output: process.stdout });
  try {
    const result = await runToolLoop({
      provider,
      messages,
      events,
      ...team,
      middleware: [finalAnswer({ reserve: { tokens: 20_000 } })], // the members leave this reserve to the lead
    });
    console.log(result.text);
  } finally {
    stop();
  }
  // #endregion run
  assert.equal(provider.calls, 4);
}

{
  const provider = createModel();
  let drawing = "";
  const tree = createRunTree();
  for await (const event of streamToolLoop({ provider, messages, ...team })) {
    tree.add(event);
    if (event.type === "run-end") drawing = renderTree(tree, { width: 60 });
  }
  assert.match(drawing, /^✓ lead +4,000 tokens/);
  assert.deepEqual(
    tree.runs[0]?.nested.map(({ name, task, state }) => [name, task, state]),
    [
      ["researcher", "Bergen", "completed"],
      ["researcher", "Oslo", "completed"],
    ],
  );
}
