// The programs in `openai-agents-before.ts`, rewritten with turnwright.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  approve,
  createLoopControl,
  defineTool,
  finalAnswer,
  type Message,
  runToolLoop,
  streamToolLoop,
  structuredOutput,
} from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Where is order 7?" }];
const lookUp = toolCall("look_up_order", { id: "7" });
const shown: string[] = [];
const console = { log: (said: string): void => void shown.push(said) };
const process = { stdout: { write: console.log } };

const provider = createMockProvider([[text("Let me look. "), lookUp], text("It is late."), text("Tomorrow.")]);
// #region tool
const lookUpOrder = defineTool({
  name: "look_up_order",
  description: "Status of an order",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, isLate: true }),
});
const support = { provider, system: "Be short.", tools: [lookUpOrder] };

const result = await runToolLoop({ ...support, messages: [{ role: "user", content: "Where is order 7?" }] });
console.log(result.status === "completed" ? result.text : `No answer: ${result.reason.kind}`);
// #endregion tool
assert.equal(shown.pop(), "It is late.");
// #region next
const next = await runToolLoop({ ...support, messages: [...result.messages, { role: "user", content: "When will it come?" }] });
// #endregion next
assert.deepEqual([next.text, next.messages.length], ["Tomorrow.", 6]);

const tools = [lookUpOrder];
{
  const provider = createMockProvider([[text("Let me look. "), lookUp], text("It is late.")]);
  // #region stream
  const stream = streamToolLoop({ provider, tools, messages });
  for await (const event of stream) {
    if (event.type === "text-delta") process.stdout.write(event.text);
    if (event.type === "tool-end") process.stdout.write("[looked up] ");
  }
  const { status, text: answer } = await stream.result; // resolves after an error too
  // #endregion stream
  assert.equal(shown.splice(0).join(""), "Let me look. [looked up] It is late.");
  assert.deepEqual([status, answer], ["completed", "It is late."]);
}

{
  const provider = createMockProvider([[text("Let me look. "), lookUp], lookUp]);
  // #region limit
  const limited = await runToolLoop({ provider, tools, messages, limits: { maxIterations: 2 } });
  if (limited.reason.kind === "max-iterations") {
    console.log(`The limit of ${limited.reason.limit} iterations was reached.`); // `limited.messages` has the history
  }
  // #endregion limit
  assert.deepEqual(shown.splice(0), ["The limit of 2 iterations was reached."]);
  assert.deepEqual([limited.status, limited.text, limited.messages.length], ["timeout", "Let me look.", 5]);
}

{
  const provider = createMockProvider([
    [text("Let me look. "), lookUp],
    [text("And once more. "), lookUp],
    text("It is late, I think."),
  ]);
  const limited = await runToolLoop({
    provider,
    tools,
    messages,
    limits: { maxIterations: 2 },
    middleware: [finalAnswer()],
  });
  console.log(limited.text); // the model answered once more, without tools; the reason is still "max-iterations"
  assert.deepEqual(shown.splice(0), ["It is late, I think."]);
  assert.deepEqual([limited.reason.kind, limited.finalAnswer], ["max-iterations", true]);
}

{
  const stopButton = new EventTarget();
  const provider = createMockProvider([[text("Let me look. "), lookUp]]);
  const press = defineTool({
    name: "look_up_order",
    description: "Status of an order",
    inputSchema: z.object({ id: z.string() }),
    execute: (_, { signal }) => {
      stopButton.dispatchEvent(new Event("click"));
      signal.throwIfAborted();
    },
  });
  const tools = [press];
  const control = createLoopControl();
  stopButton.addEventListener("click", () => control.stop());

  const stopped = await runToolLoop({ provider, tools, messages, control });
  if (stopped.status === "stopped-by-user") console.log(`Stopped. Until then: ${stopped.text}`);
  // `stopped.messages` has one result for each call. The interrupted call has the outcome "interrupted".
  assert.deepEqual(shown.splice(0), ["Stopped. Until then: Let me look."]);
  assert.match(JSON.stringify(stopped.messages.at(-1)), /"outcome":"interrupted"/);
}

{
  const folder = mkdtempSync(join(tmpdir(), "from-openai-agents-"));
  const file = join(folder, "order-7.jsonl");
  const provider = createMockProvider([toolCall("refund", { id: "7", amount: 900 }), text("Refunded.")]);
  const refunds: number[] = [];
  const sendMoney = async (amount: number): Promise<string> => {
    refunds.push(amount);
    return "done";
  };
  const refund = defineTool({
    name: "refund",
    description: "Refunds an amount in EUR",
    inputSchema: z.object({ id: z.string(), amount: z.number() }),
    needsApproval: ({ amount }) => amount > 100,
    execute: ({ amount }) => sendMoney(amount),
  });
  const messages: readonly Message[] = [{ role: "user", content: "Refund order 7." }];
  const options = { provider, tools: [refund], middleware: [approve()], messages, runId: "order-7" };
  const first = await runToolLoop({ ...options, journal: fileJournal(file) });
  const waiting = first.reason.kind === "approval-required" ? first.reason.calls : [];

  // Days later, in any process: a person has approved the refund. The file contains the suspended run.
  const answers = Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" as const }]));
  const second = await runToolLoop({ ...options, journal: fileJournal(file), answers });
  // `second.text` is "Refunded." If you run this code again, the text is the same, and nothing is refunded twice.
  assert.deepEqual([first.status, second.text, refunds], ["suspended", "Refunded.", [900]]);
  const third = await runToolLoop({ ...options, journal: fileJournal(file), answers });
  assert.deepEqual([third.text, refunds], ["Refunded.", [900]]);
  rmSync(folder, { recursive: true, force: true });
}

{
  const provider = createMockProvider([text('{ "id": "7", "isLate": "yes" }'), text('{ "id": "7", "isLate": true }')]);
  const schema = z.object({ id: z.string(), isLate: z.boolean() });
  const { output, reason } = await runToolLoop({ provider, messages, middleware: [structuredOutput(schema)] });
  if (output !== undefined) console.log(`${output.id}: ${output.isLate}`);
  if (reason.kind === "invalid-output") console.log(`${reason.attempts} answers in a row did not fit.`);
  // Shows "7: true". The model's first answer was invalid, and the model read an error message.
  assert.deepEqual(shown.splice(0), ["7: true"]);
}

{
  const provider = createMockProvider([toolCall("look_up_order", { id: "7" }), text("It is late.")]);
  const result = await runToolLoop({ provider, tools, messages });
  assert.equal(result.text, "It is late.");
  assert.equal(provider.requests[1]?.messages.length, 3); // the second request has the call and its result
  assert.equal(provider.calls, 2);
}

globalThis.console.log("openai-agents-after: the same programs on turnwright hold.");
