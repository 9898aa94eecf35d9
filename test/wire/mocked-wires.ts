import type { Provider } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { expect } from "vitest";
import { packageWires } from "./ai-sdk-client.ts";
import { chat } from "./chat-script.ts";
import { checkGenerateContract } from "./generate-contract.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { responses } from "./responses-script.ts";
import type { Wire } from "./wire.ts";

export interface MockedWire {
  readonly name: string;
  readonly besides: object;
  /** The reasoning text in the response of the mock. The provider must read it. */
  readonly reasoning: string;
  /** The delay in milliseconds that the mock requests when it responds with status 429. */
  readonly retryAfterMs: number | undefined;
  readonly second: object;
  connect(mockUrl: string): { readonly provider: Provider; readonly bodies: readonly unknown[] };
  check(body: unknown): readonly string[];
}

const celsius = '{"celsius":3}';
const args = (city: string): string => JSON.stringify({ city });

const chatBody = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user" },
    { role: "assistant", tool_calls: [{ id: "call_oslo" }, { id: "call_rome" }] },
    { role: "tool", tool_call_id: "call_oslo", content: celsius },
    { role: "tool", tool_call_id: "call_rome", content: celsius },
  ],
};

const responsesOutputs = [
  { type: "function_call_output", call_id: "call_oslo", output: celsius },
  { type: "function_call_output", call_id: "call_rome", output: celsius },
];

const responsesBody = {
  instructions: "Be brief.",
  store: false,
  include: ["reasoning.encrypted_content"],
  input: [
    { role: "user", content: "Oslo or Rome?" },
    { type: "reasoning", summary: [{ text: "Both, I think." }], encrypted_content: expect.any(String) },
    { type: "message", role: "assistant" },
    { type: "function_call", call_id: "call_oslo", arguments: args("Oslo") },
    { type: "function_call", call_id: "call_rome", arguments: args("Rome") },
    ...responsesOutputs,
  ],
};

const messagesBody = {
  system: "Be brief.",
  max_tokens: 16_384,
  messages: [
    { role: "user", content: [{ type: "text", text: "Oslo or Rome?" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Both, I think.", signature: expect.any(String) },
        { type: "text", text: "Let me look at both." },
        { type: "tool_use", id: "call_oslo", name: "get_weather", input: { city: "Oslo" } },
        { type: "tool_use", id: "call_rome", name: "get_weather", input: { city: "Rome" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "call_oslo", content: celsius },
        { type: "tool_result", tool_use_id: "call_rome", content: celsius },
      ],
    },
  ],
};

const generateTurns = [
  { role: "user", parts: [{ text: "Oslo or Rome?" }] },
  { role: "model", parts: expect.arrayContaining([expect.objectContaining({ functionCall: expect.anything() })]) },
];
const answersOf = (response: object): object => ({
  role: "user",
  parts: ["Oslo", "Rome"].map(() => ({ functionResponse: { name: "get_weather", response } })),
});

const generateBody = {
  systemInstruction: { parts: [{ text: "Be brief." }] },
  contents: [...generateTurns, answersOf({ output: { celsius: 3 } })],
};

const vendorWire = (wire: Wire, path: string, facts: Pick<MockedWire, "second"> & Partial<MockedWire>): MockedWire => ({
  name: `provider ${wire.name}`,
  besides: {},
  reasoning: "Both, I think.",
  retryAfterMs: 1_000,
  connect: (mockUrl) => wire.connect(mockUrl + path),
  check: wire.check,
  ...facts,
});

/** Only bodies of Chat Completions are compared, because AI SDK packages build other requests in their own way. */
const ofPackage = {
  // `@ai-sdk/openai` ignores reasoning, because OpenAI's Chat Completions has no field for it.
  chat: { second: chatBody, reasoning: "" },
  responses: { second: { input: expect.arrayContaining(responsesOutputs) }, check: () => [] },
  messages: { second: { messages: messagesBody.messages }, check: () => [] },
  generate: {
    second: { contents: [...generateTurns, answersOf({ content: { celsius: 3 } })] },
    check: () => [],
    besides: { finishReason: "stop" },
  },
} as const;

const packages: readonly MockedWire[] = packageWires.map(({ name, api, connect }) =>
  vendorWire({ chat, responses, messages, generate }[api], "", {
    name: `aiSdkModel (${name})`,
    ...ofPackage[api],
    connect(mockUrl) {
      const { model, bodies } = connect(mockUrl + (api === "generate" ? "/v1beta" : "/v1"));
      return { provider: aiSdkModel({ model }), bodies };
    },
  }),
);

export const mockedWires: readonly MockedWire[] = [
  vendorWire(chat, "/v1", { second: chatBody }),
  vendorWire(responses, "/v1", { second: responsesBody }),
  vendorWire(messages, "", { second: messagesBody }),
  vendorWire(generate, "", {
    // By default, the mock sends the finish reason FUNCTION_CALL, which Gemini never sends.
    besides: { finishReason: "stop" },
    // The mock sends the delay only in a header, and Google's SDK drops the headers of error responses.
    retryAfterMs: undefined,
    second: generateBody,
    connect: (mockUrl) => generate.connect(mockUrl, { options: { model: "gemini-2.5-flash" } }),
    check: (body) => checkGenerateContract(body, { signed: false }),
  }),
  ...packages,
];
