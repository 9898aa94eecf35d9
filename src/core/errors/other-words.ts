// Texts for error messages: what to write instead of names and formats of other libraries, and how a tool has changed.

import type { ToolChange, ToolChangeKind } from "../types/tool-outcome.ts";
import type { Replacement } from "../utils/edges.ts";
import { quote } from "../utils/texts.ts";
import type { UnknownRecord } from "../utils/guards.ts";

type ChangeWords = { readonly [Kind in ToolChangeKind]: (change: { readonly place: string; readonly values: string }) => string };

const words: ChangeWords = {
  removed: () => "was removed",
  "source-changed": ({ values }) => `has another origin${values}`,
  "field-removed": ({ place }) => `no longer has the field${place}`,
  "required-field-added": ({ place }) => `requires the field${place}`,
  "type-changed": ({ place, values }) => `has another type${place}${values}`,
  "constraint-changed": ({ place, values }) => `has another constraint${place}${values}`,
  "description-changed": ({ place }) => `has another description${place}`,
  "default-changed": ({ place, values }) => `has another default${place}${values}`,
  "trait-changed": ({ place }) => `has another value of the trait${place}`,
};

/** Describes a change in words, for example `"pay" has another type in "amount": now string, before number`. */
export function describeChange({ toolName, kind, field, was = "none", now = "none" }: ToolChange): string {
  const isField = kind === "field-removed" || kind === "required-field-added" || kind === "trait-changed";
  const place = field === undefined ? "" : `${isField ? " " : " in "}${quote(field)}`;
  return `${quote(toolName)} ${words[kind]({ place, values: `: now ${now}, before ${was}` })}`;
}

const messages: Replacement = { nearest: "messages", instead: 'messages: [{ role: "user", content: "..." }]' };
const maxIterations: Replacement = { nearest: "limits.maxIterations", instead: "limits: { maxIterations: 10 }" };
const shortIterations: Replacement = { nearest: "maxIterations", instead: "maxIterations: 10" };
const provider: Replacement = { nearest: "provider", instead: 'provider: openaiChat({ client, model: "..." })' };
const onIteration: Replacement = { nearest: "hooks.onIteration", instead: "hooks: { onIteration(finished, state) {} }" };
const prepareIteration: Replacement = {
  nearest: "hooks.prepareIteration",
  instead: "hooks: { prepareIteration(view) { return {}; } }",
};
const events: Replacement = { nearest: "events", instead: 'events: createLoopEvents(), then events.on("run-end", listener)' };
const output: Replacement = { nearest: "policies.output", instead: "policies: { output: structuredOutput(schema) }" };
const inputSchema: Replacement = { nearest: "inputSchema", instead: "inputSchema: z.object({ ... })" };
const execute: Replacement = { nearest: "execute", instead: "execute(args, context) {}" };
const toolCallGuard: Replacement = { nearest: "policies.approve", instead: "policies: { approve(call) {} }" };
const system: Replacement = { nearest: "system", instead: 'system: "..."' };
const setting = (name: string): Replacement => ({ nearest: `modelSettings.${name}`, instead: `modelSettings: { ${name} }` });
const eitherTokens: Replacement = {
  nearest: "modelSettings.maxOutputTokens",
  instead: "modelSettings: { maxOutputTokens } to limit each answer, or limits: { maxTokens } to limit all tokens of the run",
};
const wallClock: Replacement = {
  nearest: "limits.wallClockMs",
  instead: "limits: { wallClockMs: 60_000 } for the whole run, or timeouts: { toolMs } for each wait",
};
const cost: Replacement = { nearest: "limits.maxCostUSD", instead: "limits: { maxCostUSD: 0.5 }, and pricing: genaiPrices()" };
const trace: Replacement = { nearest: "events", instead: 'withTracing(options) from "turnwright/otel"' };

const maxAttempts: Replacement = { nearest: "maxAttempts", instead: "maxAttempts: 3, which includes the first attempt" };
const sdkClient: Replacement = { nearest: "client", instead: "client, an SDK client created with your key and base URL" };

/**
 * Replacements for option names of other libraries. The first replacement that exists in the checked group of options is
 * suggested.
 */
const replacements: { readonly [word: string]: readonly Replacement[] } = {
  prompt: [messages],
  input: [messages],
  query: [messages],
  history: [messages],
  maxSteps: [maxIterations, shortIterations],
  maxTurns: [maxIterations, shortIterations],
  maxRounds: [maxIterations, shortIterations],
  maxToolRoundtrips: [maxIterations, shortIterations],
  recursionLimit: [maxIterations, shortIterations],
  max_turns: [maxIterations, shortIterations],
  max_iterations: [maxIterations, shortIterations],
  stopWhen: [{ nearest: "policies.stopWhen", instead: "policies: { stopWhen: iterationCountIs(5) }" }],
  model: [provider],
  llm: [provider],
  client: [provider],
  instructions: [system],
  systemPrompt: [system],
  systemMessage: [system],
  onStepFinish: [onIteration, { nearest: "onIteration" }],
  onStepEnd: [onIteration, { nearest: "onIteration" }],
  onStepStart: [prepareIteration],
  prepareStep: [prepareIteration, { nearest: "prepareIteration" }],
  activeTools: [prepareIteration],
  onFinish: [events],
  onChunk: [events],
  onError: [events],
  onEvent: [events],
  onAbort: [events],
  callbacks: [events],
  output: [output],
  outputSchema: [output],
  outputType: [output],
  responseFormat: [output],
  response_format: [output],
  abortSignal: [{ nearest: "signal", instead: "signal: controller.signal" }],
  signal: [{ nearest: "abortSignal", instead: "abortSignal: controller.signal" }],
  temperature: [setting("temperature")],
  topP: [setting("topP")],
  top_p: [setting("topP")],
  seed: [setting("seed")],
  stopSequences: [setting("stopSequences")],
  maxTokens: [eitherTokens, { nearest: "maxOutputTokens" }],
  max_tokens: [eitherTokens, { nearest: "maxOutputTokens" }],
  maxOutputTokens: [setting("maxOutputTokens")],
  providerOptions: [setting("extra")],
  settings: [{ nearest: "modelSettings" }],
  tool_choice: [{ nearest: "toolChoice" }],
  maxRetries: [{ nearest: "provider", instead: "provider: withRetry(provider)" }, maxAttempts],
  retries: [maxAttempts],
  attempts: [maxAttempts],
  apiKey: [sdkClient],
  api_key: [sdkClient],
  baseURL: [sdkClient],
  baseUrl: [sdkClient],
  timeout: [wallClock, { nearest: "wallClockMs" }, { nearest: "timeoutMs" }],
  timeoutMs: [wallClock, { nearest: "wallClockMs" }],
  maxDuration: [wallClock, { nearest: "wallClockMs" }],
  budget: [cost],
  maxBudget: [cost, { nearest: "maxCostUSD" }],
  maxBudgetUsd: [cost, { nearest: "maxCostUSD" }],
  maxCost: [cost, { nearest: "maxCostUSD" }],
  telemetry: [trace],
  tracing: [trace],
  memory: [{ nearest: "journal" }],
  checkpointer: [{ nearest: "journal" }],
  sessionId: [{ nearest: "runId" }],
  thread_id: [{ nearest: "runId" }],
  onToolCall: [toolCallGuard],
  canUseTool: [toolCallGuard],
  parameters: [inputSchema],
  schema: [inputSchema],
  input_schema: [inputSchema],
  inputJsonSchema: [inputSchema],
  args: [inputSchema],
  run: [execute],
  func: [execute],
  handler: [execute],
  invoke: [execute],
  callback: [execute],
};

const bytes = 'data: Buffer.from(bytes).toString("base64")';
const partFields = ["image", "image_url", "input_image", "inline_data", "inlineData", "source", "mimeType", "file"];

/**
 * Returns advice if a content part has the format of another library or contains binary data, otherwise undefined. The advice
 * is a sentence without its full stop.
 */
export function advisePart(part: UnknownRecord): string | undefined {
  const hasBytes = Object.values(part).some((value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value));
  if (hasBytes) return `Bytes must be base64 text; write: { type: "image", mediaType: "image/png", ${bytes} }`;
  if (Object.hasOwn(part, "toolCallId"))
    return 'Messages of the AI SDK have another format; write calls as { type: "tool-call", callId, name, args }, and their results as { role: "tool", results: [{ callId, name, outcome: "completed", result }] }';
  return partFields.some((field) => Object.hasOwn(part, field))
    ? 'Write: { type: "image", mediaType: "image/png", data }, where data is base64 text or a URL'
    : undefined;
}

const experimental = /^(?:experimental|unstable)_/;

export function replacementOf(word: string, known: readonly string[]): Replacement | undefined {
  const name = word.replace(experimental, "");
  const rows = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
  const found = rows?.find(({ nearest }) => known.includes(nearest.replace(/\..*/, "")));
  return found ?? (name !== word && known.includes(name) ? { nearest: name } : undefined);
}
