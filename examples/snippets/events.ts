// Two ways to listen to a run, and a listener that throws.

import assert from "node:assert/strict";
import { createLoopEvents, defineTool, runToolLoop, streamToolLoop, type Message } from "turnwright";
import { createMockProvider, text as says, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Look it up." }];
const search = defineTool({
  name: "search",
  description: "Finds pages",
  inputSchema: { type: "object" },
  execute: () => ["a page"],
});
const tools = [search];
const script = [[says("One moment. "), toolCall("search")], says("Found.", { chunks: 2 })];

let shown = "";
const show = (piece: string): void => {
  shown += piece;
};

{
  const provider = createMockProvider(script);
  const process = { stdout: { write: show } };
  // #region listen
  const events = createLoopEvents();
  events.on("text-delta", ({ text }) => process.stdout.write(text));
  events.on("tool-end", ({ name, outcome }) => process.stdout.write(`[${name}: ${outcome}] `));
  const result = await runToolLoop({ provider, tools, messages, events });
  // #endregion listen
  assert.equal(result.text, "Found.");
  assert.equal(shown, "One moment. [search: completed] Found.");
}

shown = "";
{
  const provider = createMockProvider(script);
  const process = { stdout: { write: show } };
  // #region stream
  const stream = streamToolLoop({ provider, tools, messages });
  for await (const event of stream) {
    if (event.type === "text-delta") process.stdout.write(event.text);
  }
  const { status } = await stream.result;
  // #endregion stream
  assert.equal(status, "completed");
  assert.equal(shown, "One moment. Found.");
}

{
  const provider = createMockProvider(script);
  const failures: string[] = [];
  const console = { error: (line: string): void => void failures.push(line) };
  // #region misbehave
  const events = createLoopEvents();
  events.on("text-delta", () => {
    throw new Error("The socket is closed.");
  });
  events.on("listener-error", ({ event, error }) => console.error(`${event}: ${error.message}`));
  const { status } = await runToolLoop({ provider, tools, messages, events });
  // `status` is "completed", and all three deltas arrived. It writes "text-delta: The socket is closed." once.
  // #endregion misbehave
  assert.equal(status, "completed");
  assert.deepEqual(failures, ["text-delta: The socket is closed."]);
}
