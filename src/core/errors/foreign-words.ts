// Recognizes values and option names from other libraries (such as an AI SDK model or an OpenAI client), and suggests what to use instead.

import type { Advice, AdvisedOption, Replacement } from "../../shared/edges.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { isFields } from "../../shared/errors/check-fields.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { describeValue } from "../../shared/texts.ts";

/** Returns a function that writes a call to an adapter's factory, by default with a new client. */
const adapter =
  (factory: string, newClient: string, entry: string) =>
  (model: string, client = newClient): string =>
    `${factory}({ client: ${client}, model: ${model} }), from "turnwright/${entry}"`;

const chat = adapter("openaiChat", "new OpenAI()", "openai");
const claude = adapter("anthropicMessages", "new Anthropic()", "anthropic");
const generate = adapter("googleGenerateContent", "new GoogleGenAI({ apiKey })", "google");
const anyModel = '"..."';

const harmlessName = /^[\w.:/-]{1,64}$/;

function adviseModelName(name: string): Advice {
  const model = harmlessName.test(name) ? `"${name.replace(/^(?:openai|anthropic|google)[/:]/, "")}"` : anyModel;
  const write = /claude/i.test(name) ? claude : /gemini/i.test(name) ? generate : chat;
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

/** Values that people often pass as a provider by mistake, with advice. The first matching row is used. */
const wrongProviders: readonly (readonly [fits: (value: object) => boolean, advice: Advice])[] = [
  [
    (value) => hasMethod(value, "doStream") || hasMethod(value, "doGenerate"),
    { received: "an AI SDK model", instead: 'aiSdkModel({ model }), from "turnwright/ai-sdk"' },
  ],
  [
    (value) => hasMethod(value, "chat", "completions", "create") || hasMethod(value, "responses", "create"),
    { received: "an OpenAI client", instead: chat(anyModel, "client") },
  ],
  [(value) => hasMethod(value, "messages", "create"), { received: "an Anthropic client", instead: claude(anyModel, "client") }],
  [
    (value) => hasMethod(value, "models", "generateContentStream"),
    { received: "a Google client", instead: generate(anyModel, "client") },
  ],
  [
    (value) => hasMethod(value, "languageModel"),
    {
      received: "an AI SDK provider, not a model",
      instead: 'aiSdkModel({ model: openai("...") }), from "turnwright/ai-sdk"',
    },
  ],
  [
    (value) => hasMethod(value, "bindTools") || hasMethod(value, "_streamResponseChunks"),
    { received: "a LangChain model", instead: chat(anyModel) },
  ],
  [(value) => Array.isArray(value), { instead: "withFallback([first, second])" }],
  [
    (value) => isRecord(value) && ("client" in value || "model" in value) && !("stream" in value),
    { received: "an options object", instead: chat(anyModel, "client") },
  ],
];

const classes: { readonly [name: string]: (model: string) => string } = {
  OpenAI: chat,
  AzureOpenAI: chat,
  Anthropic: claude,
  GoogleGenAI: generate,
  openaiChat: chat,
  anthropicMessages: claude,
  googleGenerateContent: generate,
};

/** Returns advice for a value that is not a provider. */
function adviseProvider(value: unknown): Advice | undefined {
  if (value === undefined) return { instead: chat(anyModel) };
  if (typeof value === "string") return adviseModelName(value);
  if (!isHolder(value)) return undefined;
  const found = wrongProviders.find(([fits]) => fits(value));
  if (found !== undefined) return found[1];
  const { name } = value as { readonly name?: unknown };
  const isNamed = typeof value === "function" && typeof name === "string" && Object.hasOwn(classes, name);
  return isNamed ? { received: `the function ${name}`, instead: classes[name]?.(anyModel) ?? chat(anyModel) } : undefined;
}

const adviceOn: { readonly [Option in AdvisedOption]: (value: unknown) => Advice | undefined } = {
  provider: (value) => ({ hint: ': an object with "id", "model" and "stream"', ...adviseProvider(value) }),
  messages: (value) =>
    typeof value === "string" || isRecord(value)
      ? { instead: `messages: [${isRecord(value) ? "message" : '{ role: "user", content: "..." }'}]` }
      : undefined,
  tools: () => ({ hint: ' (for tools in an object: importTools(tools) from "turnwright/interop")' }),
  signal: (value) =>
    value instanceof AbortController ? { received: "an AbortController", instead: "controller.signal" } : undefined,
  journal: (value) => ({
    hint: " (for a saved journal: memoryJournal(saved))",
    instead: typeof value === "string" ? 'fileJournal("run.jsonl"), from "turnwright/journal"' : undefined,
  }),
  pricing: () => ({ instead: 'genaiPrices(), from "turnwright/prices"' }),
  handoffs: () => ({
    hint: " because a handoff has no effect without it",
    instead: "middleware: [agents]",
  }),
  clock: () => ({ hint: ': an object with "now", "setTimeout" and "clearTimeout"' }),
  events: () => ({ hint: ", for example createLoopEvents()" }),
  stash: () => ({ hint: ", for example createContextStash()" }),
  extra: () => ({ hint: ", with extra fields for the provider API" }),
  decision: (value) => ({
    hint: ' whose "kind" is approve, deny, modify (with "args"), ask, result (with plain data as "result") or failed (with a string "error")',
    received:
      isRecord(value) && Object.hasOwn(value, "kind")
        ? `an object whose "kind" is ${describeValue(value["kind"])}`
        : describeValue(value),
  }),
};

export function adviseOption(option: AdvisedOption, value: unknown): Advice | undefined {
  return adviceOn[option](value);
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

const systemAdvice =
  'Pass system text in the option "system", or convert the messages, for example with fromOpenAIMessages from "turnwright/openai"';

/**
 * Returns advice for a message or message part that is in another library's format. The advice is a sentence without its final
 * period.
 */
export function adviseMessage(message: UnknownRecord): string | undefined {
  try {
    const { role, content, results } = message;
    if (role === "system" || role === "developer") return systemAdvice;
    const parts = [content, [results, content].flat().map(contentOf)].flat(2);
    const advice = findConverter(message) ?? parts.flatMap((part) => (isRecord(part) ? (advisePart(part) ?? []) : [])).at(0);
    return advice ?? (role === "user" || role === "assistant" || role === "tool" ? undefined : systemAdvice);
  } catch {
    return undefined;
  }
}

function contentOf(result: unknown): readonly unknown[] {
  return isRecord(result) && Array.isArray(result["content"]) ? result["content"] : [];
}

/** Returns the name of the function that converts another library's messages, or undefined if the format is unknown. */
function findConverter(message: UnknownRecord): string | undefined {
  const { role, parts, content, type } = message;
  if (Array.isArray(parts)) {
    return parts.some((part) => isRecord(part) && "type" in part)
      ? convert("useChat", "fromUIMessages", "ui-message-stream")
      : 'Messages from Google have a different format. Write: { role: "user", content: "..." }';
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
  return `Messages from ${library} have a different format. Write: messages: ${converter}(messages).messages, from "turnwright/${entry}"`;
}

/** Returns advice for a tool from another library. The advice is a sentence without its final period. */
export function adviseTool(tool: UnknownRecord): string | undefined {
  const { name, function: described, invoke, inputSchema, parameters, execute } = tool;
  if (hasMethod(tool, "definitions") && hasMethod(tool, "executeTool"))
    return "A registry cannot be in the array. Write: tools: mergeRegistries(tools, registry)";
  if (isRecord(described) && described["name"] !== undefined)
    return "OpenAI tools have a different format. Write: defineTool({ name, description, inputSchema, execute })";
  if (typeof invoke === "function")
    return 'Import tools from other libraries. Write: importTool(tool), from "turnwright/interop"';
  const isNameless = name === undefined && isRecord(inputSchema ?? parameters) && execute !== undefined;
  return isNameless
    ? 'Add a name. AI SDK tools have none; for these, write: tools: importTools({ search: tool }), from "turnwright/interop"'
    : undefined;
}

const setting = (name: string): Replacement => ({ nearest: `modelSettings.${name}`, instead: `modelSettings: { ${name} }` });

const maxAttempts: Replacement = { nearest: "maxAttempts", instead: "maxAttempts: 3, which includes the first attempt" };

/**
 * Option names from other libraries, and what replaces them. The first replacement that exists in the checked group of options is
 * suggested.
 */
const replacements: readonly (readonly [words: string, ...replacements: readonly Replacement[]])[] = [
  ["prompt input query history", { nearest: "messages", instead: 'messages: [{ role: "user", content: "..." }]' }],
  [
    "maxSteps maxTurns maxRounds maxToolRoundtrips recursionLimit max_turns max_iterations",
    { nearest: "limits.maxIterations", instead: "limits: { maxIterations: 10 }" },
    { nearest: "maxIterations", instead: "maxIterations: 10" },
  ],
  ["stopWhen", { nearest: "middleware", instead: "middleware: [stopWhen(iterationCountIs(5))]" }],
  ["model llm client", { nearest: "provider", instead: 'provider: openaiChat({ client, model: "..." })' }],
  ["instructions systemPrompt systemMessage", { nearest: "system", instead: 'system: "..."' }],
  [
    "onStepFinish onStepEnd",
    { nearest: "middleware", instead: "middleware: [onIteration((finished, state) => {})]" },
    { nearest: "onIteration" },
  ],
  [
    "prepareStep onStepStart activeTools",
    { nearest: "middleware", instead: "middleware: [prepareIteration((view) => ({}))]" },
    { nearest: "prepareIteration" },
  ],
  [
    "onFinish onChunk onError onEvent onAbort callbacks",
    { nearest: "events", instead: 'events: createLoopEvents(), then events.on("run-end", listener)' },
  ],
  [
    "output outputSchema outputType responseFormat response_format",
    { nearest: "middleware", instead: "middleware: [structuredOutput(schema)]" },
  ],
  ["abortSignal", { nearest: "signal", instead: "signal: controller.signal" }],
  ["signal", { nearest: "abortSignal", instead: "abortSignal: controller.signal" }],
  ["temperature", setting("temperature")],
  ["topP top_p", setting("topP")],
  ["seed", setting("seed")],
  ["stopSequences", setting("stopSequences")],
  [
    "maxTokens max_tokens",
    {
      nearest: "modelSettings.maxOutputTokens",
      instead: "modelSettings: { maxOutputTokens } to limit each answer, or limits: { maxTokens } to limit all tokens of the run",
    },
    { nearest: "maxOutputTokens" },
  ],
  ["maxOutputTokens", setting("maxOutputTokens")],
  ["providerOptions", setting("extra")],
  ["settings", { nearest: "modelSettings" }],
  ["tool_choice", { nearest: "toolChoice" }],
  ["maxRetries", { nearest: "provider", instead: "provider: withRetry(provider)" }, maxAttempts],
  ["retries attempts", maxAttempts],
  ["apiKey api_key baseURL baseUrl", { nearest: "client", instead: "client, an SDK client created with your key and base URL" }],
  [
    "timeout timeoutMs maxDuration",
    {
      nearest: "limits.wallClockMs",
      instead: "limits: { wallClockMs: 60_000 } for the whole run, or timeouts: { toolMs } for each wait",
    },
    { nearest: "wallClockMs" },
    { nearest: "timeoutMs" },
  ],
  [
    "budget maxBudget maxBudgetUsd maxCost",
    { nearest: "limits.maxCostUSD", instead: "limits: { maxCostUSD: 0.5 }, and pricing: genaiPrices()" },
    { nearest: "maxCostUSD" },
  ],
  ["telemetry tracing", { nearest: "events", instead: 'middleware: [tracing()], from "turnwright/observe"' }],
  ["memory checkpointer", { nearest: "journal" }],
  ["sessionId thread_id", { nearest: "runId" }],
  ["onToolCall canUseTool", { nearest: "middleware", instead: 'middleware: [approve((call) => ({ kind: "approve" }))]' }],
  ["parameters schema input_schema inputJsonSchema args", { nearest: "inputSchema", instead: "inputSchema: z.object({ ... })" }],
  ["run func handler invoke callback", { nearest: "execute", instead: "execute(args, context) {}" }],
];

const bytes = 'data: Buffer.from(bytes).toString("base64")';
const partFields = ["image", "image_url", "input_image", "inline_data", "inlineData", "source", "mimeType", "file", "url"];

/**
 * Returns advice if a content part is in another library's format or contains binary data, otherwise undefined. The advice
 * is a sentence without its final period.
 */
export function advisePart(part: UnknownRecord): string | undefined {
  const hasBytes = Object.values(part).some((value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value));
  if (hasBytes) return `Bytes must be base64 text; write: { type: "image", mediaType: "image/png", ${bytes} }`;
  if (Object.hasOwn(part, "toolCallId"))
    return 'AI SDK messages have a different format; write calls as { type: "tool-call", callId, name, args }, and their results as { role: "tool", results: [{ callId, name, outcome: "completed", result }] }';
  return partFields.some((field) => Object.hasOwn(part, field))
    ? 'Write: { type: "image", mediaType: "image/png", data }, where data is base64 text or a URL'
    : undefined;
}

const experimental = /^(?:experimental|unstable)_/;

/** Returns what to write instead of a name from another library. */
export function replacementOf(word: string, known: readonly string[]): Replacement | undefined {
  const name = word.replace(experimental, "");
  const [, ...suited] = replacements.find(([words]) => words.split(" ").includes(name)) ?? [];
  const found = suited.find(({ nearest }) => known.includes(nearest.replace(/\..*/, "")));
  return found ?? (name !== word && known.includes(name) ? { nearest: name } : undefined);
}

/** Returns the known name that an unknown one probably stands for. It may also be an option in a different group, such as `limits`. */
export function adviseName(name: string, fields: object): Replacement | undefined {
  const known = Object.keys(fields);
  const group = Object.entries(fields).find(([, rule]) => isFields(rule) && Object.hasOwn(rule, name))?.[0];
  const nearest = group === undefined ? nearestName(name, known) : `${group}.${name}`;
  return replacementOf(name, known) ?? (nearest === undefined ? undefined : { nearest });
}

/**
 * Throws an explanation when an AI SDK stop condition, such as `stepCountIs`, reads `steps`. Otherwise, the error would only mention
 * `undefined`.
 */
export function refuseSteps(context: object): void {
  const get = (): never => {
    throw new TypeError(
      'The stop condition uses "steps", which only the AI SDK has. Use iterationCountIs or hasToolCall from "turnwright", or your own function.',
    );
  };
  Object.defineProperty(context, "steps", { get });
}
