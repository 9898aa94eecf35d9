// A support desk with handoffs and an input guardrail, with OpenAI Agents 0.20. `openai-agents-desk-after.ts` has the same program
// with turnwright.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  handoff,
  type InputGuardrail,
  InputGuardrailTripwireTriggered,
  OutputGuardrailTripwireTriggered,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents-core";
import { removeAllTools } from "@openai/agents-core/extensions";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { z } from "zod";
import { type DeskFacts, isOffTopic } from "./desk-facts.ts";

setTracingDisabled(true);
const shown: string[] = [];
const console = { log: (line: string): void => void shown.push(line) };
const refunds: string[] = [];
const model = new ScriptedModel([
  [functionCall("transfer_to_billing", {}, { callId: "call_1" })],
  [functionCall("refund", { id: "7" }, { callId: "call_2" })],
  [functionCall("transfer_to_triage", {}, { callId: "call_3" })],
  [functionCall("find_order", { id: "7" }, { callId: "call_4" })],
  [assistantMessage("Refunded. The new cup arrives on Friday.")],
]);
const parameters = z.object({ id: z.string() });
const findOrder = tool({ name: "find_order", description: "Finds an order", parameters, execute: () => "sent" });
const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters,
  execute: ({ id }) => (refunds.push(id), "refunded"),
});

// #region desk
const topic: InputGuardrail = {
  name: "topic",
  execute: async ({ input }) => ({ tripwireTriggered: await isOffTopic(input), outputInfo: { score: 0.9 } }),
};
const billing = new Agent({
  name: "billing",
  handoffDescription: "Refunds orders.",
  instructions: "You refund orders.",
  model,
  tools: [refund],
});
const triage = new Agent({
  name: "triage",
  handoffDescription: "Knows orders.",
  instructions: "You route questions.",
  model,
  tools: [findOrder],
  handoffs: [handoff(billing, { inputFilter: removeAllTools })],
  inputGuardrails: [topic],
});
billing.handoffs.push(triage);

const result = await run(triage, "Refund order 7. When does the new cup arrive?");
console.log(`${result.lastAgent?.name}: ${result.finalOutput}`);
// #endregion desk
model.assertComplete();
const requests = model.calls.map(({ request }) => ({
  system: request.systemInstructions ?? "",
  tools: [...request.tools.map((item) => item.name), ...request.handoffs.map(({ toolName }) => toolName)],
}));
// The filter has removed the handoff call from the first request of billing.
const first = JSON.stringify(model.calls[1]?.request.input);
assert.ok(!first.includes("transfer_to_billing"));

model.enqueue([assistantMessage("Yes, on Friday.")]);
// #region next
const next = await run(result.lastAgent ?? triage, [...result.history, { role: "user", content: "On Friday?" }]);
// #endregion next
const nextSystem = model.calls.at(-1)?.request.systemInstructions ?? "";
assert.equal(next.finalOutput, "Yes, on Friday.");

model.enqueue([assistantMessage("First, you need")]);
// #region refused
try {
  await run(triage, "How do I pick a lock?");
} catch (error) {
  if (!(error instanceof InputGuardrailTripwireTriggered)) throw error;
  console.log(`Refused by ${error.result.guardrail.name}.`); // the error has neither the history nor the usage
}
// #endregion refused

{
  // The guardrail takes longer than the first piece of the answer.
  const slow: InputGuardrail = {
    name: "slow",
    execute: async () => (await sleep(50), { tripwireTriggered: true, outputInfo: undefined }),
  };
  const model = new ScriptedModel([[assistantMessage("First, you need"), functionCall("refund", { id: "8" }, { callId: "c" })]]);
  const stream = await run(new Agent({ name: "a", model, tools: [refund], inputGuardrails: [slow] }), "Hi", { stream: true });
  const leaked: string[] = [];
  await assert.rejects(async () => {
    for await (const event of stream) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") leaked.push(event.data.delta);
    }
    await stream.completed;
  }, InputGuardrailTripwireTriggered);
  assert.equal(leaked.join(""), "First, you need");
}

{
  // An output guardrail runs only after the whole answer was streamed.
  const outputGuardrails = [{ name: "all", execute: async () => ({ tripwireTriggered: true, outputInfo: undefined }) }];
  const model = new ScriptedModel([[assistantMessage("The secret")]]);
  const stream = await run(new Agent({ name: "a", model, outputGuardrails }), "Hi", { stream: true });
  const leaked: string[] = [];
  await assert.rejects(async () => {
    for await (const event of stream) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") leaked.push(event.data.delta);
    }
    await stream.completed;
  }, OutputGuardrailTripwireTriggered);
  assert.equal(leaked.join(""), "The secret");
}

export const facts: DeskFacts = { shown, requests, nextSystem, refunds };
globalThis.console.log("openai-agents-desk-before: the desk on OpenAI Agents holds.");
