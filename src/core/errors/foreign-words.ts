// Advice for values that belong to another library: a model, a client, a tool or a message that was passed to the wrong place.

import type { Advice } from "../utils/edges.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";

const chat = (model: string, client = "new OpenAI()"): string =>
  `openaiChat({ client: ${client}, model: ${model} }), from "turnwright/openai"`;
const messages = (model: string, client = "new Anthropic()"): string =>
  `anthropicMessages({ client: ${client}, model: ${model} }), from "turnwright/anthropic"`;
const generate = (model: string, client = "new GoogleGenAI({ apiKey })"): string =>
  `googleGenerateContent({ client: ${client}, model: ${model} }), from "turnwright/google"`;
const anyModel = '"..."';

const harmlessName = /^[\w.:/-]{1,64}$/;

function adviseModelName(name: string): Advice {
  const model = harmlessName.test(name) ? `"${name.replace(/^(?:openai|anthropic|google)[/:]/, "")}"` : anyModel;
  const write = /claude/i.test(name) ? messages : /gemini/i.test(name) ? generate : chat;
  return { received: harmlessName.test(name) ? `the name ${JSON.stringify(name)}` : "a string", instead: write(model) };
}

const hasMethod = (value: unknown, ...path: readonly string[]): boolean => {
  let found: unknown = value;
  for (const key of path) found = isHolder(found) ? Reflect.get(found, key) : undefined;
  return typeof found === "function";
};

function isHolder(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Values that are often passed as a provider. The first row that fits decides. */
const wrongProviders: readonly (readonly [fits: (value: object) => boolean, advice: Advice])[] = [
  [
    (value) => hasMethod(value, "doStream") || hasMethod(value, "doGenerate"),
    { received: "a model of the AI SDK", instead: 'aiSdkModel({ model }), from "turnwright/ai-sdk"' },
  ],
  [
    (value) => hasMethod(value, "chat", "completions", "create") || hasMethod(value, "responses", "create"),
    { received: "an OpenAI client", instead: chat(anyModel, "client") },
  ],
  [(value) => hasMethod(value, "messages", "create"), { received: "an Anthropic client", instead: messages(anyModel, "client") }],
  [
    (value) => hasMethod(value, "models", "generateContentStream"),
    { received: "a client of Google", instead: generate(anyModel, "client") },
  ],
  [
    (value) => hasMethod(value, "languageModel"),
    {
      received: "a provider of the AI SDK, which is not a model yet",
      instead: 'aiSdkModel({ model: openai("...") }), from "turnwright/ai-sdk"',
    },
  ],
  [
    (value) => hasMethod(value, "bindTools") || hasMethod(value, "_streamResponseChunks"),
    { received: "a model of LangChain", instead: chat(anyModel) },
  ],
  [(value) => Array.isArray(value), { instead: 'withFallback([first, second]), from "turnwright"' }],
  [
    (value) => isRecord(value) && ("client" in value || "model" in value) && !("stream" in value),
    { received: "only its options", instead: chat(anyModel, "client") },
  ],
];

const classes: { readonly [name: string]: (model: string) => string } = {
  OpenAI: chat,
  AzureOpenAI: chat,
  Anthropic: messages,
  GoogleGenAI: generate,
  openaiChat: chat,
  anthropicMessages: messages,
  googleGenerateContent: generate,
};

/** Returns advice for a value that is not a provider. Never throws, because the getters of a client may throw. */
export function adviseProvider(value: unknown): Advice | undefined {
  if (value === undefined) return { instead: chat(anyModel) };
  if (typeof value === "string") return adviseModelName(value);
  if (!isHolder(value)) return undefined;
  try {
    const found = wrongProviders.find(([fits]) => fits(value));
    if (found !== undefined) return found[1];
    const { name } = value as { readonly name?: unknown };
    const isNamed = typeof value === "function" && typeof name === "string" && Object.hasOwn(classes, name);
    return isNamed ? { received: `the function ${name}`, instead: classes[name]?.(anyModel) ?? chat(anyModel) } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns advice for a value of the option `messages` that is not an array. */
export function adviseMessages(value: unknown): Advice | undefined {
  return typeof value === "string" || isRecord(value)
    ? { instead: `messages: [${isRecord(value) ? "message" : '{ role: "user", content: "..." }'}]` }
    : undefined;
}

const openAiTypes: ReadonlySet<unknown> = new Set([
  "function_call",
  "function_call_output",
  "reasoning",
  "message",
  "input_text",
  "output_text",
  "input_file",
  "input_image",
]);
const anthropicTypes: ReadonlySet<unknown> = new Set(["tool_use", "tool_result", "thinking", "server_tool_use"]);

/**
 * Returns the function that converts a message of another library, or undefined if the format is not known. The advice is a
 * sentence without its full stop.
 */
export function adviseMessage(message: UnknownRecord): string | undefined {
  const { role, parts, content, type } = message;
  if (Array.isArray(parts)) {
    return parts.some((part) => isRecord(part) && "type" in part)
      ? convert("useChat", "fromUIMessages", "ui-message-stream")
      : 'Messages of Google have another format. Write: { role: "user", content: "..." }';
  }
  const types = (Array.isArray(content) ? content : []).map((part: unknown) => (isRecord(part) ? part["type"] : undefined));
  if (types.some((one) => anthropicTypes.has(one))) return convert("Anthropic", "fromAnthropicMessages", "anthropic");
  const isOpenAI =
    "tool_calls" in message ||
    "tool_call_id" in message ||
    "function_call" in message ||
    (role === undefined && openAiTypes.has(type)) ||
    types.some((one) => one === "input_text" || one === "output_text" || one === "input_file");
  return isOpenAI ? convert("OpenAI", "fromOpenAIMessages", "openai") : undefined;
}

function convert(library: string, converter: string, entry: string): string {
  return `Messages of ${library} have another format. Write: messages: ${converter}(messages).messages, from "turnwright/${entry}"`;
}

/** Returns advice for a tool of another library, which is a sentence without its full stop. */
export function adviseTool(tool: UnknownRecord): string | undefined {
  const { name, function: described, invoke, inputSchema, parameters, execute } = tool;
  if (hasMethod(tool, "definitions") && hasMethod(tool, "executeTool"))
    return 'A registry cannot be inside the array. Write: tools: mergeRegistries(tools, registry), from "turnwright"';
  if (isRecord(described) && described["name"] !== undefined)
    return "Tools of OpenAI have another format. Write: defineTool({ name, description, inputSchema, execute })";
  if (typeof invoke === "function")
    return 'Tools of other libraries are imported. Write: importTool(tool), from "turnwright/interop"';
  const isNameless = name === undefined && isRecord(inputSchema ?? parameters) && execute !== undefined;
  return isNameless
    ? 'Add a name. Tools of the AI SDK have none; for these, write: tools: importTools({ search: tool }), from "turnwright/interop"'
    : undefined;
}
