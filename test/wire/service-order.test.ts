import { createLoopControl, defineTool, type Message, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import {
  answered,
  asked,
  chatCall,
  chatText,
  type ChatOptions,
  connect,
  createRecorder,
  rolesOf,
  said,
  sendChat,
  type Sent,
  textsOf,
  user,
} from "./service-client.ts";

const local = "http://127.0.0.1";
const mistral: ChatOptions = { service: "mistral" };

describe("openaiChat: the messages of a request", () => {
  const afterTool = [user("Look."), asked("abcdefghi"), answered("abcdefghi"), user("And now?")];

  it.for<[by: string, options: ChatOptions]>([
    ["the service option", { service: "mistral" }],
    ["the address", { at: "https://api.mistral.ai/v1" }],
    ["the id", { id: "mistral_ai", at: `${local}:9999/v1` }],
    ["the id, before the port", { id: "mistral", at: `${local}:1234/v1` }],
    ["the model at a different address", { model: "mistralai/mistral-large-4", at: "https://openrouter.ai/api/v1" }],
    ["the model on a local server", { model: "devstral-small-2603", at: `${local}:8000/v1` }],
  ])(
    "for Mistral, recognized by %s, include an assistant message between the tool message and the user message",
    async ([, options]) => {
      const sent = await sendChat(options, { messages: afterTool });
      expect(rolesOf(sent)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
      expect(textsOf(sent)[3]).toBe("I have read the results.");
    },
  );

  it.for<[options: ChatOptions]>([[{}], [{ at: "https://api.openai.com/v1" }], [{ service: "vllm", model: "qwen3" }]])(
    "with the options %j, include the user message directly after the results",
    async ([options]) => {
      expect(rolesOf(await sendChat(options, { messages: afterTool }))).toEqual(["user", "assistant", "tool", "user"]);
    },
  );

  it("include the additional assistant message before a user message that was added while a tool ran, and before images from a result", async () => {
    const control = createLoopControl();
    const { fetch, bodies } = createRecorder(({ messages }) =>
      messages.length === 1 ? chatCall("abcdefghi", "look") : chatText(),
    );
    const look = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object", properties: {} },
      execute: () => {
        control.steer("Only the blue ones.");
        return "seen";
      },
    });
    const provider = openaiChat({ client: connect(fetch), model: "m", service: "mistral" });
    const result = await runToolLoop({ provider, control, tools: [look], messages: [user("Look.")] });
    expect(result.status).toBe("completed");
    expect(bodies.at(-1)?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
  });

  it.for<[what: string, options: ChatOptions, messages: readonly Message[], roles: readonly string[]]>([
    ["Mistral: adds a user message after an assistant message", mistral, [user("Hi"), said("A")], ["user", "assistant", "user"]],
    [
      "llama-server: adds a user message after an assistant message",
      { at: `${local}:8080/v1` },
      [user("Hi"), said("A")],
      ["user", "assistant", "user"],
    ],
    [
      "Claude through a gateway: adds a user message after an assistant message",
      { model: "anthropic/claude-opus-5" },
      [user("Hi"), said("A")],
      ["user", "assistant", "user"],
    ],
    [
      "Ollama: merges assistant messages",
      { service: "ollama" },
      [user("Hi"), said("A"), said("B"), user("C")],
      ["user", "assistant", "user"],
    ],
    ["LM Studio: merges user messages", { at: `${local}:1234/v1` }, [user("Hi"), user("you")], ["user"]],
    ["z.ai: begins with a user message", { service: "zai" }, [asked("c"), answered("c")], ["user", "assistant", "tool"]],
    ["DashScope: begins with a user message", { service: "dashscope" }, [said("A"), user("Hi")], ["user", "assistant", "user"]],
    ["vLLM: begins with a user message", { service: "vllm" }, [said("A"), user("Hi")], ["user", "assistant", "user"]],
    [
      "vLLM: merges text and calls",
      { service: "vllm" },
      [user("Hi"), said("A"), asked("c"), answered("c")],
      ["user", "assistant", "tool"],
    ],
    [
      "OpenAI: keeps the messages",
      {},
      [user("Hi"), user("you"), said("A"), said("B")],
      ["user", "user", "assistant", "assistant"],
    ],
  ])("follow the rules of the service: %s", async ([, options, messages, roles]) => {
    expect(rolesOf(await sendChat(options, { messages }))).toEqual(roles);
  });

  it("contain the merged content of messages with the same role", async () => {
    const image: Message = { role: "user", content: [{ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }] };
    const messages = [user("A"), user("B"), said("C"), said("D"), user("E"), image];
    const sent = await sendChat({ service: "ollama" }, { messages });
    expect(textsOf(sent)).toMatchObject(["A\n\nB", "C\n\nD", [{ type: "text", text: "E" }, { type: "image_url" }]]);
  });

  it("include no message without content for xAI and MiMo", async () => {
    const messages = [user("Look."), asked("c"), answered("c")];
    expect(textsOf(await sendChat({ at: "https://api.x.ai/v1" }, { messages }))[1]).toBe("(Calls tools.)");
    expect(textsOf(await sendChat({ model: "mimo-v2.5" }, { messages }))[1]).toBe("");
    expect(textsOf(await sendChat({}, { messages }))[1]).toBeNull();
  });

  it("contain no empty text for Bedrock and Claude", async () => {
    const messages: readonly Message[] = [
      user("Look."),
      asked("c"),
      Object({ ...answered("c"), results: [{ callId: "c", name: "look", outcome: "completed", result: "" }] }),
    ];
    for (const options of [{ service: "bedrock" }, { model: "claude-sonnet-5" }] as const) {
      expect(textsOf(await sendChat(options, { messages }))).toEqual(["Look.", null, "(empty)"]);
    }
    expect(textsOf(await sendChat({}, { messages }))).toEqual(["Look.", null, ""]);
  });

  it.for<[options: ChatOptions, besideCall: string | null]>([
    [{ service: "bedrock" }, null],
    [{ at: `${local}:4000/v1`, model: "bedrock/us.anthropic.claude-opus-4-8" }, null],
    [{ model: "anthropic/claude-sonnet-5" }, null],
    [{ at: "https://api.x.ai/v1" }, "(Calls tools.)"],
  ])(
    "with the options %j, contain no blank text: it is replaced, or omitted next to other text",
    async ([options, besideCall]) => {
      const blank = { type: "text", text: " \n" } as const;
      const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
      const messages: readonly Message[] = [
        user("Look."),
        Object({ role: "assistant", content: [blank, ...Object(asked("c")).content] }),
        answered("c"),
        { role: "assistant", content: [blank] },
        { role: "user", content: [blank, { type: "text", text: "Go on." }, image] },
        said("Gone."),
        { role: "user", content: [blank, blank] },
      ];
      const [, call, , filled, kept, , none] = textsOf(await sendChat(options, { messages }));
      expect([call, filled, none]).toEqual([besideCall, "(empty)", "(empty)"]);
      expect(kept).toMatchObject([{ type: "text", text: "Go on." }, { type: "image_url" }]);
    },
  );

  it("for Google, have a placeholder signature on the first call in a different model's message", async () => {
    const messages = [user("Look."), asked("c"), answered("c")];
    const at = "https://generativelanguage.googleapis.com/v1beta/openai/";
    const signature = { google: { thought_signature: "skip_thought_signature_validator" } };
    const callOf = ({ body }: Sent): unknown => body.messages[1]?.tool_calls?.[0];
    expect(callOf(await sendChat({ at, model: "gemini-4-argon" }, { messages }))).toMatchObject({ extra_content: signature });
    expect(callOf(await sendChat({ at, model: "gemini-2.5-pro" }, { messages }))).not.toHaveProperty("extra_content");
  });
});

describe("call ids", () => {
  const long = "chatcmpl-tool-8174c6dc1d3047b3953aa8f422063ddb";
  const idsOf = ({ body }: Sent): readonly unknown[] => [body.messages[1]?.tool_calls?.[0]?.id, body.messages[2]?.tool_call_id];

  it.for<[service: string, options: ChatOptions, id: string, pattern: RegExp]>([
    ["OpenAI", {}, long, /^[\w-]{40}$/],
    ["Mistral", mistral, "call_1", /^[a-zA-Z0-9]{9}$/],
    ["Mistral", mistral, "aB3dE6gH9", /^aB3dE6gH9$/],
    ["Bedrock", { id: "aws.bedrock" }, "functions.look:0", /^[\w-]{1,40}$/],
    ["Kimi", { model: "kimi-k3" }, `functions.${"look".repeat(12)}:0`, /^functions\.(?:look){12}:0$/],
    ["OpenAI", { toWireCallId: (id) => `x${id}` }, long, new RegExp(`^x${long}$`)],
  ])("are sent in a form that %s accepts, in calls and results (options %j, id %s)", async ([, options, id, pattern]) => {
    const ids = idsOf(await sendChat(options, { messages: [user("Look."), asked(id), answered(id)] }));
    expect(ids[0]).toMatch(pattern);
    expect(ids[1]).toBe(ids[0]);
  });
});
