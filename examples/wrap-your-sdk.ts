// Makes a provider from any SDK. The method `stream` converts a request to the format of the SDK, and the SDK's events to chunks.
// The SDK in this example is invented. Replace it with yours.

import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool, type FinishReason, type Message, type Provider, runToolLoop } from "turnwright";
import { providerSuite } from "turnwright/testing";
import { createSdkStandIn, type Sdk, type SdkMessage } from "./support/sdk-stand-in.ts";

// #region provider
// #region wrapper
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end", "stop"],
  ["calls", "tool-calls"],
  ["limit", "length"],
]);

function wrapSdk(sdk: Sdk, model: string): Provider {
  return {
    id: "your-sdk",
    model,
    async *stream(request, call) {
      const { system: instructions, messages, tools, toolChoice, settings } = request;
      const body = {
        model,
        instructions,
        messages: messages.flatMap(toSdkMessages),
        tools: tools.map(({ name, description, inputSchema }) => ({ name, about: description, parameters: inputSchema })),
        choice: typeof toolChoice === "object" ? { tool: toolChoice.name } : toolChoice,
        temperature: settings?.temperature,
        maxTokens: settings?.maxOutputTokens, // this SDK has no topP, stopSequences and seed
        ...settings?.extra,
      };
      let hasCalls = false;
      for await (const event of sdk.chat(body, { signal: call.signal })) {
        if (event.event === "token") {
          yield { type: "text-delta", text: event.token };
        } else if (event.event === "call") {
          const { id, tool, input } = event.call;
          hasCalls = true;
          yield { type: "call-ready", key: id, id, name: tool, args: input };
        } else {
          const { why, tokensIn: inputTokens, tokensOut: outputTokens } = event;
          yield {
            type: "usage",
            mode: "snapshot",
            usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
          };
          const said = finishReasons.get(why) ?? "unknown"; // do not guess reasons that the SDK may add later
          // Some services send "stop" although the response has tool calls.
          yield { type: "finish", reason: said === "stop" && hasCalls ? "tool-calls" : said, raw: why };
        }
      }
    },
  };
}
// #endregion wrapper

function toSdkMessages(message: Message): readonly SdkMessage[] {
  switch (message.role) {
    case "user":
      return [{ from: "user", text: typeof message.content === "string" ? message.content : JSON.stringify(message.content) }];
    case "assistant": {
      const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      const calls = message.content.filter((part) => part.type === "tool-call");
      return [{ from: "model", text, calls: calls.map(({ callId, name, args }) => ({ id: callId, tool: name, input: args })) }];
    }
    case "tool":
      return message.results.map(({ callId, result }) => ({ from: "tool", id: callId, output: JSON.stringify(result) }));
  }
}
// #endregion provider

// #region suite
// The suite tests text, calls, usage, aborts, refusals, and streams that are cut off.
const checks = providerSuite({ create: ({ replies }) => ({ provider: wrapSdk(createSdkStandIn(replies), "small") }) });
for (const { title, run } of checks) {
  await run();
  console.log(`✓ ${title}`);
}
// #endregion suite

const usage = { inputTokens: 30, outputTokens: 10 };
const sdk = createSdkStandIn([
  { kind: "turn", text: "Let me add that up.", calls: [{ name: "add", args: { numbers: [19, 23] } }], usage, ending: "finished" },
  { kind: "turn", text: "That makes 42.", calls: [], usage, ending: "finished" },
]);

const add = defineTool({
  name: "add",
  description: "Sum of numbers",
  inputSchema: z.object({ numbers: z.array(z.number()) }),
  execute: ({ numbers }) => numbers.reduce((sum, number) => sum + number, 0),
});

const result = await runToolLoop({
  provider: wrapSdk(sdk, "small"),
  tools: [add],
  messages: [{ role: "user", content: "What is 19 plus 23?" }],
  toolChoice: { name: "add" },
  modelSettings: { temperature: 0, maxOutputTokens: 200, extra: { tier: "slow" } },
});
console.log(result.status, result.reason.kind, result.text);

assert.equal(result.status, "completed");
assert.equal(result.text, "That makes 42.");
assert.deepEqual(result.functionHistory[0]?.functionResponse.response, { result: 42 });
assert.equal(result.usage.totalTokens, 80);
const [request] = sdk.requests;
assert.deepEqual(request?.choice, { tool: "add" });
assert.deepEqual([request.temperature, request.maxTokens], [0, 200]);
assert.deepEqual(Object.entries(request).at(-1), ["tier", "slow"]);

const newer: Sdk = {
  async *chat() {
    yield { event: "token", token: "Hm." };
    yield { event: "done", why: "weary", tokensIn: 3, tokensOut: 1 };
  },
};
const { reason } = await runToolLoop({ provider: wrapSdk(newer, "small"), messages: [{ role: "user", content: "Well?" }] });
assert(reason.kind === "provider-error");
assert.equal(reason.error.code, "finish-unknown");

const quirky: Sdk = {
  async *chat({ messages }) {
    const asks = messages.length === 1;
    if (asks) yield { event: "call", call: { id: "c1", tool: "add", input: { numbers: [1, 2] } } };
    else yield { event: "token", token: "Three." };
    yield { event: "done", why: "end", tokensIn: 3, tokensOut: 1 };
  },
};
const summed = await runToolLoop({
  provider: wrapSdk(quirky, "small"),
  tools: [add],
  messages: [{ role: "user", content: "1 and 2?" }],
});
assert.deepEqual([summed.text, summed.toolCallsExecuted], ["Three.", 1]);
