// What the next message does to a run that is under way.

import assert from "node:assert/strict";
import {
  createLoopControl,
  defineTool,
  memoryJournal,
  runToolLoop,
  type LoopOptions,
  type Message,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "How warm is it in Oslo?" }];

/** A tool during which somebody says something. */
function toolDuring(act: () => void): LoopOptions["tools"] {
  const inputSchema = { type: "object" };
  return [defineTool({ name: "measure", description: "Reads a thermometer", inputSchema, execute: () => (act(), 45) })];
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees Celsius.")]);
  // #region steer
  const control = createLoopControl();
  const tools = toolDuring(() => control.steer("In Celsius, please."));
  const result = await runToolLoop({ provider, tools, messages, control });
  // The model read the tool's result, then "In Celsius, please.", and answered "7 degrees Celsius."
  // #endregion steer
  assert.equal(result.text, "7 degrees Celsius.");
  assert.deepEqual(
    result.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "user", "assistant"],
  );
}

{
  const provider = createMockProvider([[text("In Oslo it"), stall()], text("Oslo 7, Bergen 9.")]);
  const control = createLoopControl();
  setTimeout(() => control.interrupt("And in Bergen?"), 20);
  // #region interrupt
  let result = await runToolLoop({ provider, messages, control });
  if (result.reason.kind === "interrupted") {
    result = await runToolLoop({ provider, messages: [...result.messages, result.reason.message], control });
  }
  // Both questions were sent, and one answer came: "Oslo 7, Bergen 9."
  // #endregion interrupt
  assert.equal(result.text, "Oslo 7, Bergen 9.");
  assert.equal(provider.requests[1]?.messages.length, 2);
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees."), text("9 degrees.")]);
  // #region undelivered
  const control = createLoopControl();
  const tools = toolDuring(() => control.interrupt("And in Bergen?"));
  const first = await runToolLoop({ provider, tools, messages, control });
  const next = await runToolLoop({ provider, tools, messages: [...first.messages, ...first.undelivered], control });
  // #endregion undelivered
  assert.deepEqual([first.text, next.text], ["7 degrees.", "9 degrees."]);
  assert.deepEqual(first.undelivered, [{ role: "user", content: "And in Bergen?" }]);
}

{
  const provider = createMockProvider([toolCall("measure"), text("7 degrees.")]);
  // #region drain
  const control = createLoopControl();
  const tools = toolDuring(() => control.drain());
  const drained = await runToolLoop({ provider, tools, messages, control });
  const saved = JSON.stringify(drained.journal);

  const recorded: SavedJournal = JSON.parse(saved);
  const journal = memoryJournal(recorded);
  const result = await runToolLoop({ provider, tools, messages, journal });
  // The first run ended "suspended"; the second went on behind the tool's result, without running it again.
  // #endregion drain
  assert.deepEqual([drained.status, drained.reason.kind], ["suspended", "drained"]);
  assert.deepEqual([result.status, result.text, result.toolCallsExecuted], ["completed", "7 degrees.", 1]);
}
