// Programs that use OpenAI Agents 0.20. `openai-agents-after.ts` has the same programs, rewritten with turnwright.

import assert from "node:assert/strict";
import { Agent, MaxTurnsExceededError, ModelBehaviorError, run, RunState, setTracingDisabled, tool } from "@openai/agents-core";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { z } from "zod";

setTracingDisabled(true);
const shown: string[] = [];
const console = { log: (text: string): void => void shown.push(text) };
const process = { stdout: { write: console.log } };
const lookUp = functionCall("look_up_order", { id: "7" }, { callId: "call_1" });

const model = new ScriptedModel([[assistantMessage("Let me look. "), lookUp], [assistantMessage("It is late.")]]);
// #region tool
const lookUpOrder = tool({
  name: "look_up_order",
  description: "Status of an order",
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, isLate: true }),
});
const agent = new Agent({ name: "Support", instructions: "Be short.", model, tools: [lookUpOrder] });

const result = await run(agent, "Where is order 7?");
console.log(result.finalOutput ?? "No answer.");
// #endregion tool
assert.equal(shown.pop(), "It is late.");
model.enqueue([assistantMessage("Tomorrow.")]);
// #region next
const next = await run(agent, [...result.history, { role: "user", content: "When will it come?" }]);
// #endregion next
assert.deepEqual([next.finalOutput, next.history.length], ["Tomorrow.", 7]);

{
  const model = new ScriptedModel([[assistantMessage("Let me look. "), lookUp], [assistantMessage("It is late.")]]);
  const agent = new Agent({ name: "Support", model, tools: [lookUpOrder] });
  // #region stream
  const stream = await run(agent, "Where is order 7?", { stream: true });
  for await (const event of stream) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta")
      process.stdout.write(event.data.delta);
    if (event.type === "run_item_stream_event" && event.name === "tool_output") process.stdout.write("[looked up] ");
  }
  await stream.completed; // rejects after an error
  const answer = stream.finalOutput;
  // #endregion stream
  assert.equal(shown.splice(0).join(""), "Let me look. [looked up] It is late.");
  assert.equal(answer, "It is late.");
}

{
  const model = new ScriptedModel([[assistantMessage("Let me look. "), lookUp], [lookUp]]);
  const agent = new Agent({ name: "Support", model, tools: [lookUpOrder] });
  // #region limit
  try {
    await run(agent, "Where is order 7?", { maxTurns: 2 });
  } catch (error) {
    if (!(error instanceof MaxTurnsExceededError)) throw error;
    console.log(error.message); // "Max turns (2) exceeded"; `error.state` has the history
  }
  // #endregion limit
  assert.deepEqual(shown.splice(0), ["Max turns (2) exceeded"]);
}

{
  const stopButton = new EventTarget();
  const model = new ScriptedModel([[assistantMessage("Let me look. "), lookUp]]);
  const press = tool({
    name: "look_up_order",
    description: "Status of an order",
    parameters: z.object({ id: z.string() }),
    execute: (_, _runContext, details) => {
      stopButton.dispatchEvent(new Event("click"));
      details?.signal?.throwIfAborted();
    },
  });
  const agent = new Agent({ name: "Support", model, tools: [press] });
  // #region stop
  const controller = new AbortController();
  stopButton.addEventListener("click", () => controller.abort());
  try {
    await run(agent, "Where is order 7?", { signal: controller.signal });
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    console.log("Stopped."); // the AbortError has neither the text nor the history
  }
  // #endregion stop
  assert.deepEqual(shown.splice(0), ["Stopped."]);
  assert.equal(model.calls.length, 1);
}

{
  const model = new ScriptedModel([
    [functionCall("refund", { id: "7", amount: 900 }, { callId: "call_1" })],
    [assistantMessage("Refunded.")],
    [assistantMessage("Refunded again.")],
  ]);
  const refunds: number[] = [];
  const sendMoney = async (amount: number): Promise<string> => {
    refunds.push(amount);
    return "done";
  };
  // #region approve
  const refund = tool({
    name: "refund",
    description: "Refunds an amount in EUR",
    parameters: z.object({ id: z.string(), amount: z.number() }),
    needsApproval: async (_runContext, { amount }) => amount > 100,
    execute: ({ amount }) => sendMoney(amount),
  });
  const agent = new Agent({ name: "Support", model, tools: [refund] });
  const first = await run(agent, "Refund order 7.");
  const saved = first.state.toString(); // goes into your database

  // Days later, in any process: a person has approved the refund.
  const state = await RunState.fromString(agent, saved);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  const second = await run(agent, state);
  // `second.finalOutput` is "Refunded." If you run this code again with the same saved state, it refunds a second time.
  // #endregion approve
  assert.deepEqual([first.interruptions.length, second.finalOutput, refunds], [1, "Refunded.", [900]]);
  const again = await RunState.fromString(agent, saved);
  for (const interruption of again.getInterruptions()) again.approve(interruption);
  await run(agent, again);
  assert.deepEqual(refunds, [900, 900]);
}

{
  const model = new ScriptedModel([[assistantMessage('{ "id": "7", "isLate": "yes" }')]]);
  // #region output
  const schema = z.object({ id: z.string(), isLate: z.boolean() });
  const agent = new Agent({ name: "Support", model, outputType: schema });
  try {
    const { finalOutput } = await run(agent, "Is order 7 late?");
    if (finalOutput !== undefined) console.log(`${finalOutput.id}: ${finalOutput.isLate}`);
  } catch (error) {
    if (!(error instanceof ModelBehaviorError)) throw error;
    console.log(error.message); // the first answer that does not fit ends the run
  }
  // #endregion output
  assert.deepEqual(shown.splice(0), ["Invalid output type: final assistant output did not match the expected schema."]);
}

{
  // #region test
  const model = new ScriptedModel([
    [functionCall("look_up_order", { id: "7" }, { callId: "call_1" })],
    [assistantMessage("It is late.")],
  ]);
  const { finalOutput } = await run(new Agent({ name: "Support", model, tools: [lookUpOrder] }), "Where is order 7?");
  assert.equal(finalOutput, "It is late.");
  assert.equal(model.calls[1]?.request.input.length, 3); // the second request has the call and its result
  model.assertComplete();
  // #endregion test
}

globalThis.console.log("openai-agents-before: the programs on OpenAI Agents hold.");
