// Programs that use version 7 of the AI SDK. `ai-sdk-after.ts` has the same programs, rewritten with turnwright.

import assert from "node:assert/strict";
import { generateText, isStepCount, type ModelMessage, NoObjectGeneratedError, Output, streamText, tool } from "ai-v7";
import { MockLanguageModelV4 } from "ai-v7/test";
import { z } from "zod";
import { callTool, createModel, say, usage } from "./ai-sdk-model.ts";

const prompt = "Do I need a coat in Oslo?";
const look = [say("Let me look. "), callTool("get_forecast", { city: "Oslo" })];
const shown: string[] = [];
const console = { log: (text: string): void => void shown.push(text) };
const process = { stdout: { write: console.log } };

const model = createModel([look, [say("Yes, take a coat.")]]);
// #region tool
const getForecast = tool({
  description: "Weather of the next days",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, degrees: 7 }),
});
const tools = { get_forecast: getForecast };

const result = await generateText({
  model,
  tools,
  prompt: "Do I need a coat in Oslo?",
  stopWhen: isStepCount(10), // without `stopWhen`: one request, and the model never reads the forecast
});
console.log(result.text);
// #endregion tool
assert.deepEqual([shown.pop(), result.finishReason, result.steps.length], ["Yes, take a coat.", "stop", 2]);
{
  const { text, steps } = await generateText({ model: createModel([look]), tools, prompt });
  assert.deepEqual([text, steps.length], ["Let me look. ", 1]);
}

{
  const model = createModel([look, [say("Yes, take a coat.")]]);
  // #region stream
  const { stream, text } = streamText({ model, tools, prompt, stopWhen: isStepCount(10) });
  for await (const part of stream) {
    if (part.type === "text-delta") process.stdout.write(part.text);
    if (part.type === "tool-result") process.stdout.write(`[${part.toolName}] `);
    if (part.type === "error") process.stdout.write("[failed]");
  }
  const answer = await text; // rejects after an error
  // #endregion stream
  assert.equal(shown.splice(0).join(""), "Let me look. [get_forecast] Yes, take a coat.");
  assert.equal(answer, "Yes, take a coat.");
}

{
  const model = createModel([[say("Yes, take a coat.")], [say("No, it is dry.")]]);
  const table = new Map<string, readonly ModelMessage[]>();
  // #region chat
  async function answer(id: string, content: string): Promise<string> {
    const asked: readonly ModelMessage[] = [...(table.get(id) ?? []), { role: "user", content }];
    const { text, responseMessages } = await generateText({ model, messages: [...asked] });
    table.set(id, [...asked, ...responseMessages]);
    return text;
  }
  // #endregion chat
  await answer("chat-17", prompt);
  assert.equal(await answer("chat-17", "And in Bergen?"), "No, it is dry.");
  assert.equal(table.get("chat-17")?.length, 4);
}

{
  const model = createModel([look, [callTool("get_forecast", { city: "Oslo" })]]);
  // #region limit
  const { finishReason, steps, text } = await generateText({
    model,
    tools,
    prompt,
    stopWhen: isStepCount(2),
    onStepEnd: ({ stepNumber, toolCalls }) => console.log(`${stepNumber}: ${toolCalls.length} calls`),
  });
  if (finishReason === "tool-calls") console.log(`No answer after ${steps.length} steps.`);
  // `text` is "", because it contains only the text of the last step.
  // #endregion limit
  assert.deepEqual(shown.splice(0), ["0: 1 calls", "1: 1 calls", "No answer after 2 steps."]);
  assert.equal(text, "");
}

{
  const model = createModel([look]);
  const stopButton = new EventTarget();
  const tools = {
    get_forecast: tool({
      inputSchema: z.object({ city: z.string() }),
      execute: (_, { abortSignal }) => {
        stopButton.dispatchEvent(new Event("click"));
        abortSignal?.throwIfAborted();
      },
    }),
  };
  // #region stop
  const controller = new AbortController();
  stopButton.addEventListener("click", () => controller.abort());

  const done: ModelMessage[] = []; // the only record of the finished steps
  try {
    await generateText({
      model,
      tools,
      prompt,
      stopWhen: isStepCount(10),
      abortSignal: controller.signal,
      onStepEnd: ({ response }) => void done.push(...response.messages),
    });
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    console.log("Stopped.");
  }
  // #endregion stop
  assert.deepEqual(shown.splice(0), ["Stopped."]);
  assert.match(JSON.stringify(done), /"error-text","value":"AbortError/);
}

{
  const model = createModel([[callTool("pay", { amount: 900 })], [say("Paid.")], [say("Paid again.")]]);
  const paid: number[] = [];
  const payBill = async (amount: number): Promise<string> => {
    paid.push(amount);
    return "done";
  };
  // #region approve
  const pay = tool({ inputSchema: z.object({ amount: z.number() }), execute: ({ amount }) => payBill(amount) });
  const options = {
    model,
    tools: { pay },
    toolApproval: { pay: ({ amount }: { amount: number }) => (amount > 100 ? "user-approval" : undefined) },
    stopWhen: isStepCount(10),
  } as const;
  const messages: ModelMessage[] = [{ role: "user", content: "Pay the bill." }];
  const first = await generateText({ ...options, messages });

  // Days later: a person has approved the payment. The messages are still in your database.
  const requests = first.content.filter((part) => part.type === "tool-approval-request");
  const answers = requests.map(({ approvalId }) => ({ type: "tool-approval-response" as const, approvalId, approved: true }));
  messages.push(...first.responseMessages, { role: "tool", content: answers });
  const second = await generateText({ ...options, messages });
  // `second.text` is "Paid." If you run this code again with the same messages, it pays a second time.
  // #endregion approve
  assert.deepEqual([second.text, paid], ["Paid.", [900]]);
  await generateText({ ...options, messages });
  assert.deepEqual(paid, [900, 900]);
}

{
  const model = createModel([[say('{ "city": "Oslo", "coat": "maybe" }')]]);
  // #region output
  const schema = z.object({ city: z.string(), coat: z.boolean() });
  try {
    const { output } = await generateText({ model, prompt, output: Output.object({ schema }) });
    console.log(`${output.city}: ${output.coat}`);
  } catch (error) {
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    console.log(`No answer that fits: ${error.text}`); // { "city": "Oslo", "coat": "maybe" }
  }
  // #endregion output
  assert.deepEqual(shown.splice(0), ['No answer that fits: { "city": "Oslo", "coat": "maybe" }']);
}

{
  // #region test
  const model = new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "call_1", toolName: "get_forecast", input: '{"city":"Oslo"}' }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "Yes, take a coat." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
  const { text } = await generateText({ model, tools, prompt, stopWhen: isStepCount(10) });
  assert.equal(text, "Yes, take a coat.");
  assert.equal(model.doGenerateCalls[1]?.prompt.at(-1)?.role, "tool"); // the second request ends with the forecast
  // #endregion test
}

globalThis.console.log("ai-sdk-before: the programs on the AI SDK hold.");
