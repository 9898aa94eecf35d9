// The requests of each service for one history and for each kind of choice, on Chat Completions.

import { expect, it } from "vitest";
import { type Message, prepareIteration, structuredOutput, type ToolChoice } from "turnwright";
import { z } from "zod";
import { answered, asked, type ChatOptions, said, sendChat, type SentBody, tool, user } from "./service-client.ts";

const callId = `functions.look:${"0".repeat(30)}`;

/** Two user messages in a row, a call without text with a long id, a user message after the result, and the model at the end. */
const history: readonly Message[] = [
  said("Hello."),
  user(""),
  user("Look."),
  asked(callId),
  answered(callId),
  user("And?"),
  said("Done."),
  said("Bye."),
];

const tools = [tool("look"), tool("search")];

const common = ["model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls"];

/** The fields that only some services have, except those that the other lines show. */
const ownFields = (body: SentBody): readonly string[] => Object.keys(body).filter((field) => !common.includes(field));

function showChoice(body: SentBody): string {
  const { tools: sent = [], tool_choice: choice, messages } = body;
  const off = ownFields(body);
  const named = typeof choice === "object" ? "named" : JSON.stringify(choice);
  const instruction = JSON.stringify(messages) === '[{"role":"user","content":"Hello"}]' ? "" : " and an instruction";
  return `${named} of ${sent.length}${instruction}${off.length === 0 ? "" : ` with ${off.join()}`}`;
}

async function choose(options: ChatOptions, toolChoice: ToolChoice): Promise<string> {
  const prepare = ({ iteration }: { readonly iteration: number }): object => (iteration === 0 ? { toolChoice } : {});
  return showChoice((await sendChat(options, { tools, middleware: [prepareIteration(prepare)] })).body);
}

async function describeService(options: ChatOptions): Promise<readonly string[]> {
  const settings = { maxOutputTokens: 100, seed: 1, temperature: 0.5, stopSequences: ["END"] };
  const { body } = await sendChat(options, { messages: history, modelSettings: settings });
  const whole = body.messages.map(({ role, content, tool_calls: calls }) => {
    const text = typeof content === "string" ? content.replace("\n\n", " + ").slice(0, 20) : JSON.stringify(content);
    const id = calls === undefined ? "" : ` ${calls.map((call) => call.id.replace(/0+$/, "0")).join()}`;
    return `${role.slice(0, 4)} ${text}${id}`;
  });
  const output = structuredOutput(z.object({ a: z.number() }), { maxRetries: 0 });
  const schema = (await sendChat(options, { tools, middleware: [output] })).body;
  return [
    whole.join(" / "),
    `fields: ${ownFields(body).join(", ")}; tools: ${body.tools?.length ?? 0}`,
    `required: ${await choose(options, "required")}`,
    `named: ${await choose(options, { name: "look" })}; none: ${await choose(options, "none")}`,
    `schema with tools: ${"response_format" in schema ? "a field" : "text"}; names: ${JSON.stringify(
      schema.tools?.map((entry) => (entry as { readonly function: { readonly name: string } }).function.name),
    )}`,
  ];
}

const services: readonly ChatOptions[] = [
  { service: "openai", model: "gpt-4.1" },
  { service: "openai", model: "o3" },
  { service: "azure", model: "gpt-4.1" },
  { service: "bedrock", model: "tuned" },
  { model: "us.amazon.nova-2" },
  { model: "anthropic/claude-sonnet-4.6" },
  { service: "dashscope", model: "qwen3.8-max" },
  { service: "deepseek", model: "deepseek-v4-pro" },
  { service: "fireworks", model: "tuned" },
  { service: "google", model: "gemini-3-pro" },
  { service: "groq", model: "kimi-k2.5" },
  { service: "litellm", model: "tuned" },
  { service: "llama-server", model: "tuned" },
  { service: "lm-studio", model: "tuned" },
  { service: "meta", model: "muse-spark-2" },
  { service: "minimax", model: "minimax-m3" },
  { service: "mistral", model: "tuned" },
  { model: "mistralai/mistral-large-4" },
  { service: "moonshot", model: "kimi-k2.5" },
  { service: "moonshot", model: "kimi-k3" },
  { service: "ollama", model: "tuned" },
  { service: "openrouter", model: "z-ai/glm-5.3" },
  { service: "openrouter", model: "qwen/qwen3.8" },
  { service: "openrouter", model: "moonshotai/kimi-k2.7" },
  { service: "together", model: "tuned" },
  { service: "vllm", model: "tuned" },
  { service: "xai", model: "grok-5" },
  { service: "xiaomi", model: "mimo-v2.5" },
  { service: "zai", model: "glm-5.3" },
];

it("openaiChat: each service receives only requests that it accepts", async () => {
  const described = await Promise.all(
    services.map(async (options) => [
      `${options.service ?? "any service"}, ${options.model}`,
      ...(await describeService(options)),
    ]),
  );
  expect(described.map((lines) => lines.join("\n  ")).join("\n\n")).toMatchInlineSnapshot(`
    "openai, gpt-4.1
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    openai, o3
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    azure, gpt-4.1
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    bedrock, tuned
      user (The conversation be / assi Hello. / user (empty) + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 1
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    any service, us.amazon.nova-2
      user (The conversation be / assi Hello. / user (empty) + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 1
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    any service, anthropic/claude-sonnet-4.6
      user (The conversation be / assi Hello. / user (empty) + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye. / user Continue.
      fields: max_completion_tokens, temperature, stop, seed; tools: 1
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    dashscope, qwen3.8-max
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2 with enable_thinking
      named: named of 2 with enable_thinking; none: "none" of 2
      schema with tools: a field; names: ["look","t_search"]

    deepseek, deepseek-v4-pro
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2 with thinking
      named: named of 2 with thinking; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    fireworks, tuned
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    google, gemini-3-pro
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye. / user Continue.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    groq, kimi-k2.5
      assi Hello. / user  / user Look. / assi null functions.look:0 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: text; names: ["look","search"]

    litellm, tuned
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 1
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    llama-server, tuned
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye. / user Continue.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: "required" of 1; none: "none" of 2
      schema with tools: text; names: ["look","search"]

    lm-studio, tuned
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye. / user Continue.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: "required" of 1; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    meta, muse-spark-2
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "auto" of 2 and an instruction
      named: "auto" of 2 and an instruction; none: undefined of 0
      schema with tools: a field; names: ["look","search"]

    minimax, minimax-m3
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    mistral, tuned
      user (The conversation be / assi Hello. / user  + Look. / assi null cmgimewqe / tool seen / assi I have read the resu / user And? / assi Done. + Bye. / user Continue.
      fields: max_tokens, temperature, stop, random_seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    any service, mistralai/mistral-large-4
      user (The conversation be / assi Hello. / user  + Look. / assi null cmgimewqe / tool seen / assi I have read the resu / user And? / assi Done. + Bye. / user Continue.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    moonshot, kimi-k2.5
      assi Hello. / user  / user Look. / assi null functions.look:0 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, stop, seed; tools: 0
      required: "required" of 2 with thinking
      named: named of 2 with thinking; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    moonshot, kimi-k3
      assi Hello. / user  / user Look. / assi null functions.look:0 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, stop, seed; tools: 0
      required: "required" of 2
      named: "required" of 1; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    ollama, tuned
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye. / user Continue.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "auto" of 2 and an instruction
      named: "auto" of 1 and an instruction; none: undefined of 0
      schema with tools: a field; names: ["look","search"]

    openrouter, z-ai/glm-5.3
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "auto" of 2 and an instruction
      named: "auto" of 1 and an instruction; none: undefined of 0
      schema with tools: a field; names: ["look","search"]

    openrouter, qwen/qwen3.8
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: "required" of 1; none: "none" of 2
      schema with tools: a field; names: ["look","t_search"]

    openrouter, moonshotai/kimi-k2.7
      assi Hello. / user  / user Look. / assi null functions.look:0 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "auto" of 2 and an instruction
      named: "auto" of 1 and an instruction; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    together, tuned
      assi Hello. / user  / user Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    vllm, tuned
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    xai, grok-5
      assi Hello. / user (empty) / user Look. / assi (Calls tools.) functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    xiaomi, mimo-v2.5
      assi Hello. / user  / user Look. / assi  functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. / assi Bye.
      fields: max_completion_tokens, temperature, stop, seed; tools: 0
      required: "required" of 2
      named: named of 2; none: "none" of 2
      schema with tools: a field; names: ["look","search"]

    zai, glm-5.3
      user (The conversation be / assi Hello. / user  + Look. / assi null functionslook000000000000_1ca17b33507b36 / tool seen / user And? / assi Done. + Bye.
      fields: max_tokens, temperature, stop, seed; tools: 0
      required: "auto" of 2 and an instruction
      named: "auto" of 2 and an instruction; none: undefined of 0
      schema with tools: a field; names: ["look","search"]"
  `);
});
