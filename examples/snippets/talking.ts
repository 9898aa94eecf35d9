// Sends messages to a run, and shows their effects.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import {
  createLoopControl,
  defineTool,
  memoryJournal,
  runToolLoop,
  type LoopOptions,
  type Message,
  type SavedJournal,
  type UserMessage,
} from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "How warm is it in Oslo?" }];

/** Simulates a user who sends a message while the tool runs. */
function toolDuring(act: () => void): LoopOptions["tools"] {
  const inputSchema = { type: "object" };
  return [defineTool({ name: "measure", description: "Reads a thermometer", inputSchema, execute: () => (act(), 45) })];
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees Celsius.")]);
  const process = { stdin: new EventEmitter() };
  const tools = toolDuring(() => process.stdin.emit("data", "In Celsius, please."));
  // #region steer
  const control = createLoopControl();
  process.stdin.on("data", (line) => control.steer(String(line))); // or messages from your page
  const result = await runToolLoop({ provider, tools, messages, control });
  // While a tool ran, the user wrote "In Celsius, please." The model read the result of the tool and then this message, and
  // answered "7 degrees Celsius."
  // #endregion steer
  assert.equal(result.text, "7 degrees Celsius.");
  assert.deepEqual(
    result.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "user", "assistant"],
  );
}

{
  const provider = createMockProvider([[text("In Oslo it"), stall()], text("Oslo 7, Bergen 9, Voss 4.")]);
  const control = createLoopControl();
  setTimeout(() => ["And in Bergen?", "And in Voss?"].map((said) => control.interrupt(said)), 20);
  // #region interrupt
  let result = await runToolLoop({ provider, messages, control });
  while (result.reason.kind === "interrupted") {
    const asked = [...result.messages, result.reason.message, ...result.undelivered];
    result = await runToolLoop({ provider, messages: asked, control });
  }
  // "And in Bergen?" and "And in Voss?" arrived during the first run. The answer to all three questions is "Oslo 7, Bergen 9,
  // Voss 4."
  // #endregion interrupt
  assert.equal(result.text, "Oslo 7, Bergen 9, Voss 4.");
  assert.deepEqual(
    provider.requests[1]?.messages,
    ["How warm is it in Oslo?", "And in Bergen?", "And in Voss?"].map((content) => ({ role: "user", content })),
  );
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees."), text("9 degrees.")]);
  const control = createLoopControl();
  const tools = toolDuring(() => control.interrupt("And in Bergen?"));
  const first = await runToolLoop({ provider, tools, messages, control });
  const next = await runToolLoop({ provider, tools, messages: [...first.messages, ...first.undelivered], control });
  assert.deepEqual([first.text, next.text], ["7 degrees.", "9 degrees."]);
  assert.deepEqual(first.undelivered, [{ role: "user", content: "And in Bergen?" }]);
}

{
  const provider = createMockProvider([[text("In Oslo it"), stall()]]);
  const control = createLoopControl();
  setTimeout(() => {
    control.steer("In Celsius, please.");
    control.interrupt("And in Bergen?");
    control.interrupt("And in Voss?");
    control.steer("In one line.");
  }, 20);
  const { reason, undelivered } = await runToolLoop({ provider, messages, control });
  // Sent: steer("In Celsius, please."), interrupt("And in Bergen?"), interrupt("And in Voss?"), steer("In one line.")
  // reason.message: "And in Bergen?"
  // undelivered: "In Celsius, please.", "And in Voss?", "In one line."
  assert.equal(reason.kind === "interrupted" ? reason.message.content : "", "And in Bergen?");
  assert.deepEqual(
    undelivered.map(({ content }) => content),
    ["In Celsius, please.", "And in Voss?", "In one line."],
  );
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees Celsius.")]);
  // Other libraries in this process listen to its own signals, and would end it.
  const process = new EventEmitter();
  const tools = toolDuring(() => {
    process.emit("SIGTERM");
    control.steer("In Celsius, please.");
  });
  // #region drain
  const control = createLoopControl();
  process.once("SIGTERM", () => control.drain());
  const drained = await runToolLoop({ provider, tools, messages, control, runId: "question-7" });
  const { journal, undelivered } = drained;
  const saved = JSON.stringify({ journal, undelivered }); // if it is suspended, store it outside the process
  // #endregion drain

  // #region drained
  const found: { readonly journal: SavedJournal; readonly undelivered: readonly UserMessage[] } = JSON.parse(saved);
  const nextControl = createLoopControl();
  for (const message of found.undelivered) nextControl.steer(message);
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    control: nextControl,
    journal: memoryJournal(found.journal),
    runId: "question-7",
  });
  // The first run has the status "suspended". The second run did not repeat the tool call. It sent the call's result and the
  // message.
  // #endregion drained
  assert.deepEqual([drained.status, drained.reason.kind], ["suspended", "drained"]);
  assert.deepEqual([result.status, result.text, result.toolCallsExecuted], ["completed", "7 degrees Celsius.", 1]);
  assert.deepEqual(provider.requests[1]?.messages.at(-1), { role: "user", content: "In Celsius, please." });
}
