import { runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import {
  answered,
  asked,
  chatCall,
  type ChatOptions,
  chatText,
  connect,
  createRecorder,
  type RunOptions,
  sendChat,
  sendResponses,
  type Sent,
  tool,
  user,
} from "./service-client.ts";

const local = "http://127.0.0.1";

describe("tool-related fields in a request without tools", () => {
  const extra = { parallel_tool_calls: false, tool_choice: "auto", tools: [] };

  it.for<[wire: string, send: (options: object, run: RunOptions) => Promise<Sent>]>([
    ["openaiChat", sendChat],
    ["openaiResponses", sendResponses],
  ])("are omitted by %s, even if extra has them", async ([, send]) => {
    const { body } = await send({}, { modelSettings: { extra } });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["parallel_tool_calls"]));
    expect(body).not.toHaveProperty("tool_choice");
    expect(body).not.toHaveProperty("tools");
    const { tools: _tools, ...choice } = extra;
    expect((await send({}, { tools: [tool("look")], modelSettings: { extra: choice } })).body).toMatchObject(choice);
  });
});

describe("the tool choice", () => {
  const tools = [tool("plan"), tool("look")];
  const forced = (toolChoice: unknown): RunOptions => ({ tools, toolChoice, limits: { maxIterations: 1 } }) as RunOptions;
  const named = { name: "plan" };
  const object = { type: "function", function: { name: "plan" } };
  const disabled = { thinking: { type: "disabled" } };

  it.for<[what: string, options: ChatOptions, choice: unknown, sent: object, tools: number]>([
    ["OpenAI, named", {}, named, { tool_choice: object }, 2],
    ["vLLM, named", { service: "vllm" }, named, { tool_choice: object }, 2],
    ["LM Studio, named", { at: `${local}:1234/v1` }, named, { tool_choice: "required" }, 1],
    ["llama-server, named", { at: `${local}:8080/v1` }, named, { tool_choice: "required" }, 1],
    ["OpenRouter, named", { at: "https://openrouter.ai/api/v1" }, named, { tool_choice: "required" }, 1],
    ["Kimi K3, named", { service: "moonshot", model: "kimi-k3" }, named, { tool_choice: "required" }, 1],
    ["Ollama, named", { service: "ollama" }, named, { tool_choice: "auto" }, 1],
    ["z.ai, named", { at: "https://api.z.ai/api/paas/v4" }, named, { tool_choice: "auto" }, 2],
    ["z.ai, required", { service: "zai" }, "required", { tool_choice: "auto" }, 2],
    ["Meta, required", { service: "meta" }, "required", { tool_choice: "auto" }, 2],
    ["GLM on OpenRouter, required", { service: "openrouter", model: "z-ai/glm-5.3" }, "required", { tool_choice: "auto" }, 2],
    [
      "Claude Opus 5.5 through a gateway, required",
      { model: "anthropic/claude-opus-5.5" },
      "required",
      { tool_choice: "auto" },
      2,
    ],
    [
      "Claude Opus 5 through a gateway, required",
      { model: "anthropic/claude-opus-5" },
      "required",
      { tool_choice: "required" },
      2,
    ],
    [
      "DeepSeek V4, required",
      { at: "https://api.deepseek.com", model: "deepseek-v4-pro" },
      "required",
      { tool_choice: "required", ...disabled },
      2,
    ],
    ["Kimi K2.6, named", { service: "moonshot", model: "kimi-k2.6" }, named, { tool_choice: object, ...disabled }, 2],
    ["Kimi K2.7, named", { service: "moonshot", model: "kimi-k2.7-code" }, named, { tool_choice: "auto" }, 2],
    [
      "Kimi for Coding, required",
      { at: "https://api.kimi.com/coding/v1", model: "kimi-for-coding" },
      "required",
      { tool_choice: "auto" },
      2,
    ],
    ["Qwen, named", { service: "dashscope", model: "qwen3-max" }, named, { tool_choice: object, enable_thinking: false }, 2],
    [
      "Kimi K2.6 on OpenRouter, required",
      { service: "openrouter", model: "moonshotai/kimi-k2.6" },
      "required",
      { tool_choice: "required", reasoning: { enabled: false } },
      2,
    ],
    [
      "DeepSeek V4 on OpenRouter, named",
      { service: "openrouter", model: "deepseek/deepseek-v4-pro" },
      named,
      { tool_choice: "required", reasoning: { enabled: false } },
      1,
    ],
    [
      "K2 Thinking on OpenRouter",
      { service: "openrouter", model: "moonshotai/kimi-k2-thinking" },
      named,
      { tool_choice: "auto" },
      1,
    ],
    ["OpenAI, none", {}, "none", { tool_choice: "none" }, 2],
  ])("has the form that the service accepts: %s", async ([, options, choice, sent, count]) => {
    const { body } = await sendChat(options, forced(choice));
    expect(body).toMatchObject(sent);
    expect(body.tools).toHaveLength(count);
    const last = body.messages.at(-1)?.content;
    const instruction =
      choice === "required"
        ? "Call at least one of the tools now, instead of answering."
        : 'Call the tool "plan" now, instead of answering.';
    const isReplaced = choice !== "none" && body["tool_choice"] === "auto";
    expect(String(last).endsWith(instruction)).toBe(isReplaced);
  });

  it('is omitted together with the tools if the service refuses the choice "none"', async () => {
    const glm: ChatOptions = { service: "openrouter", model: "z-ai/glm-5.3" };
    for (const options of [{ service: "meta" }, { service: "ollama" }, { service: "zai" }, glm] as const) {
      const { body } = await sendChat(options, forced("none"));
      expect(body).not.toHaveProperty("tools");
      expect(body).not.toHaveProperty("tool_choice");
    }
  });

  it("becomes an instruction in text if the caller has enabled thinking", async () => {
    const options: ChatOptions = { service: "deepseek", model: "deepseek-v4-pro" };
    const thinking = (type: string): RunOptions => ({ ...forced("required"), modelSettings: { extra: { thinking: { type } } } });
    expect((await sendChat(options, thinking("enabled"))).body).toMatchObject({
      tool_choice: "auto",
      thinking: { type: "enabled" },
    });
    expect((await sendChat(options, thinking("disabled"))).body).toMatchObject({ tool_choice: "required", ...disabled });
  });

  it('is "required", with only the named tool, for LM Studio with openaiResponses', async () => {
    const { body } = await sendResponses({ at: `${local}:1234/v1` }, forced(named));
    expect(body).toMatchObject({ tool_choice: "required", tools: [{ name: "plan" }] });
    expect(body.tools).toHaveLength(1);
    expect((await sendResponses({}, forced(named))).body).toMatchObject({ tool_choice: { type: "function", name: "plan" } });
  });

  it('is "auto", with an instruction, for z.ai with openaiResponses', async () => {
    const { body } = await sendResponses({ service: "zai" }, forced(named));
    expect(body).toMatchObject({ tool_choice: "auto" });
    expect(body.input.at(-1)).toEqual({ role: "user", content: 'Call the tool "plan" now, instead of answering.' });
  });
});

describe("tools from earlier messages", () => {
  const messages = [
    user("Look."),
    asked("c"),
    answered("c"),
    asked("d", "bad name!"),
    answered("d", "bad name!"),
    user("Name this chat."),
  ];

  it.for<[options: ChatOptions]>([
    [{ service: "bedrock" }],
    [{ id: "aws.bedrock", at: "https://api.portkey.test/v1" }],
    [{ model: "us.anthropic.claude-opus-4-8-v1:0" }],
    [{ model: "anthropic/claude-sonnet-5", at: "https://openrouter.ai/api/v1" }],
    [{ service: "litellm" }],
  ])("with the options %j, are declared but cannot be called", async ([options]) => {
    const { body } = await sendChat(options, { messages });
    expect(body).toMatchObject({
      tool_choice: "none",
      tools: [{ function: { name: "look" } }, { function: { name: "bad_name_" } }],
    });
  });

  it("are not declared for other services, in a run with tools, or without calls", async () => {
    expect((await sendChat({}, { messages })).body).not.toHaveProperty("tools");
    expect((await sendChat({ service: "bedrock" }, { messages, tools: [tool("new")] })).body.tools).toHaveLength(1);
    expect((await sendChat({ service: "bedrock" }, {})).body).not.toHaveProperty("tools");
  });
});

describe("tool names", () => {
  it("that do not begin with a letter are replaced in requests to Kimi, and restored in the run", async () => {
    const { fetch, bodies } = createRecorder(({ messages }) => (messages.length === 1 ? chatCall("c", "t__look") : chatText()));
    const provider = openaiChat({ client: connect(fetch), model: "kimi-k3" });
    const options = { provider, tools: [tool("_look"), tool("plan")], limits: { maxIterations: 2 } };
    const result = await runToolLoop({ ...options, messages: [user("Look.")] });
    expect(result.functionHistory).toMatchObject([{ functionCall: { name: "_look" }, outcome: "completed" }]);
    expect(bodies[1]?.tools).toMatchObject([{ function: { name: "t__look" } }, { function: { name: "plan" } }]);
    expect(bodies[1]?.messages[1]?.tool_calls).toMatchObject([{ function: { name: "t__look" } }]);
  });

  it("are unchanged for other services", async () => {
    const { body } = await sendChat({}, { tools: [tool("_look")] });
    expect(body.tools).toMatchObject([{ function: { name: "_look" } }]);
  });
});
