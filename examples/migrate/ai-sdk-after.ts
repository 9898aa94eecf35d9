// The programs in `ai-sdk-before.ts`, rewritten with turnwright.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  approve,
  createLoopControl,
  defineTool,
  iterationCountIs,
  type Message,
  onIteration,
  runToolLoop,
  stopWhen,
  streamToolLoop,
  structuredOutput,
} from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Do I need a coat in Oslo?" }];
const look = [text("Let me look. "), toolCall("get_forecast", { city: "Oslo" })];
const shown: string[] = [];
const console = { log: (said: string): void => void shown.push(said) };
const process = { stdout: { write: console.log } };

const provider = createMockProvider([look, text("Yes, take a coat.")]);
// #region tool
const getForecast = defineTool({
  name: "get_forecast",
  description: "Weather of the next days",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, degrees: 7 }),
});
const tools = [getForecast];

const result = await runToolLoop({
  provider,
  tools,
  messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
  limits: { maxIterations: 10 }, // default 100
});
console.log(result.status === "completed" ? result.text : `No answer: ${result.reason.kind}`);
// #endregion tool
assert.deepEqual([shown.pop(), result.reason.kind, result.iterations], ["Yes, take a coat.", "answered", 2]);

{
  const provider = createMockProvider([look, text("Yes, take a coat.")]);
  // #region stream
  const stream = streamToolLoop({ provider, tools, messages });
  for await (const event of stream) {
    if (event.type === "text-delta") process.stdout.write(event.text);
    if (event.type === "tool-end") process.stdout.write(`[${event.name}] `);
  }
  const { status, text: answer } = await stream.result; // resolves after an error too
  if (status === "error") process.stdout.write("[failed]");
  // #endregion stream
  assert.equal(shown.splice(0).join(""), "Let me look. [get_forecast] Yes, take a coat.");
  assert.equal(answer, "Yes, take a coat.");
}

{
  const provider = createMockProvider([text("Yes, take a coat."), text("No, it is dry.")]);
  // #region chat
  const store = memoryConversationStore(); // or fileConversationStore, or postgresConversationStore
  async function answer(id: string, content: string): Promise<string> {
    return (await createConversation({ id, store, options: { provider } }).send(content)).text;
  }
  // #endregion chat
  await answer("chat-17", "Do I need a coat in Oslo?");
  assert.equal(await answer("chat-17", "And in Bergen?"), "No, it is dry.");
  assert.equal(provider.requests[1]?.messages.length, 3);
}

{
  const provider = createMockProvider([look, toolCall("get_forecast", { city: "Oslo" })]);
  const { reason, text } = await runToolLoop({
    provider,
    tools,
    messages,
    limits: { maxIterations: 2 },
    middleware: [onIteration((finished, { lastToolCalls }) => console.log(`${finished}: ${lastToolCalls.length} calls`))],
  });
  if (reason.kind === "max-iterations") console.log(`No answer after ${reason.limit} iterations.`);
  // `text` is "Let me look.", the last text that the model wrote.
  assert.deepEqual(shown.splice(0), ["1: 1 calls", "2: 1 calls", "No answer after 2 iterations."]);
  assert.equal(text, "Let me look.");
}

{
  // The loop checks stop conditions after each response. If one is met, the calls in that response do not run.
  const provider = createMockProvider([look, toolCall("get_forecast", { city: "Oslo" })]);
  const ended = await runToolLoop({ provider, tools, messages, middleware: [stopWhen(iterationCountIs(2))] });
  assert.deepEqual([ended.status, ended.toolCallsExecuted, ended.pendingCalls.length], ["completed", 1, 1]);
}

{
  const provider = createMockProvider([look]);
  const stopButton = new EventTarget();
  const tools = [
    defineTool({
      name: "get_forecast",
      description: "",
      inputSchema: z.object({ city: z.string() }),
      execute: (_, { signal }) => {
        stopButton.dispatchEvent(new Event("click"));
        signal.throwIfAborted();
      },
    }),
  ];
  const control = createLoopControl();
  stopButton.addEventListener("click", () => control.stop());

  const { status, text, messages: done } = await runToolLoop({ provider, tools, messages, control });
  if (status === "stopped-by-user") console.log(`Stopped. Until then: ${text}`);
  // `done` has the text, and one result for each call. The interrupted call has the outcome "interrupted".
  assert.deepEqual(shown.splice(0), ["Stopped. Until then: Let me look."]);
  assert.match(JSON.stringify(done.at(-1)), /"outcome":"interrupted"/);
}

{
  const folder = mkdtempSync(join(tmpdir(), "from-the-ai-sdk-"));
  const file = join(folder, "bill-7.jsonl");
  const provider = createMockProvider([toolCall("pay", { amount: 900 }), text("Paid.")]);
  const paid: number[] = [];
  const payBill = async (amount: number): Promise<string> => {
    paid.push(amount);
    return "done";
  };
  const pay = defineTool({
    name: "pay",
    description: "Pays an amount in EUR",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 100,
    execute: ({ amount }) => payBill(amount),
  });
  const messages: readonly Message[] = [{ role: "user", content: "Pay the bill." }];
  const options = { provider, tools: [pay], middleware: [approve()], messages, runId: "bill-7" };
  const first = await runToolLoop({ ...options, journal: fileJournal(file) });
  const waiting = first.reason.kind === "approval-required" ? first.reason.calls : [];

  // Days later, in any process: a person has approved the payment. The file contains the suspended run.
  const answers = Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" as const }]));
  const second = await runToolLoop({ ...options, journal: fileJournal(file), answers });
  // `second.text` is "Paid." If you run this code again, the text is the same, and nothing is paid twice.
  assert.deepEqual([first.status, second.text, paid], ["suspended", "Paid.", [900]]);
  const third = await runToolLoop({ ...options, journal: fileJournal(file), answers });
  assert.deepEqual([third.text, paid], ["Paid.", [900]]);
  rmSync(folder, { recursive: true, force: true });
}

{
  const provider = createMockProvider([
    text('{ "city": "Oslo", "coat": "maybe" }'),
    text('{ "city": "Oslo", "coat": "maybe" }'),
    text('{ "city": "Oslo", "coat": true }'),
  ]);
  const schema = z.object({ city: z.string(), coat: z.boolean() });
  const answer = await runToolLoop({ provider, messages, middleware: [structuredOutput(schema)] });
  if (answer.output !== undefined) console.log(`${answer.output.city}: ${answer.output.coat}`);
  if (answer.reason.kind === "invalid-output") console.log(`No answer that fits: ${answer.text}`);
  // Shows "Oslo: true". The model's first two answers were invalid, and the model read an error message after each.
  assert.deepEqual(shown.splice(0), ["Oslo: true"]);
}

{
  const provider = createMockProvider([toolCall("get_forecast", { city: "Oslo" }), text("Yes, take a coat.")]);
  const result = await runToolLoop({ provider, tools, messages });
  assert.equal(result.text, "Yes, take a coat.");
  assert.equal(provider.requests[1]?.messages.at(-1)?.role, "tool"); // the second request ends with the forecast
}

globalThis.console.log("ai-sdk-after: the same programs on turnwright hold.");
