// Builds span attributes for settings, usage and end reasons. They are numbers and fixed names, never free text, so they are safe to record
// without `captureContent`.

import type { EndReason, FinishReason, LoopEvents, LoopLimits, ModelSettings, Usage } from "../../core/index.ts";
import { limitRules } from "../../core/kit.ts";
import { redactSecrets } from "../../shared/redact-secrets.ts";
import { cleanName, errorTypeOf } from "../run-observer.ts";
import type { Attributes, AttributeValue } from "@opentelemetry/api";

/**
 * Attribute names from OpenTelemetry's conventions for generative AI, as of November 2026. All these names have the status
 * "development". `cache_write` was formerly called `cache_creation`. Source:
 * github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md, docs/gen-ai/gen-ai-agent-spans.md and
 * client-inference.md.
 */
export const genAi = {
  agentName: "gen_ai.agent.name",
  conversationId: "gen_ai.conversation.id",
  inputMessages: "gen_ai.input.messages",
  operationName: "gen_ai.operation.name",
  outputMessages: "gen_ai.output.messages",
  providerName: "gen_ai.provider.name",
  requestMaxTokens: "gen_ai.request.max_tokens",
  requestModel: "gen_ai.request.model",
  requestSeed: "gen_ai.request.seed",
  requestStopSequences: "gen_ai.request.stop_sequences",
  requestStream: "gen_ai.request.stream",
  requestTemperature: "gen_ai.request.temperature",
  requestTopP: "gen_ai.request.top_p",
  responseFinishReasons: "gen_ai.response.finish_reasons",
  responseModel: "gen_ai.response.model",
  responseTimeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  systemInstructions: "gen_ai.system_instructions",
  tokenModality: "gen_ai.token.modality",
  toolCallArguments: "gen_ai.tool.call.arguments",
  toolCallId: "gen_ai.tool.call.id",
  toolCallResult: "gen_ai.tool.call.result",
  toolDescription: "gen_ai.tool.description",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  usageCacheRead: "gen_ai.usage.cache_read.input_tokens",
  usageCacheWrite: "gen_ai.usage.cache_write.input_tokens",
  usageInput: "gen_ai.usage.input_tokens",
  usageOutput: "gen_ai.usage.output_tokens",
  usageReasoning: "gen_ai.usage.reasoning.output_tokens",
} as const;

/**
 * Attribute names with the status "stable". Source: github.com/open-telemetry/semantic-conventions,
 * docs/registry/attributes/error.md and http.md.
 */
export const common = { errorType: "error.type", httpStatus: "http.response.status_code" } as const;

export const otherError = "_OTHER";

/** The value of `gen_ai.token.modality` for all counts, because providers do not report tokens by modality. */
export const unknownModality = "unknown";

/** The finish reason of a stream that was stopped or interrupted after its first chunk. */
export const unfinished = "error";

/** The values of `gen_ai.operation.name`. Each span name begins with one of these words. */
export const operations = { run: "invoke_agent", stream: "chat", call: "execute_tool" } as const;

export const own = {
  broken: "turnwright.run.broken",
  costUSD: "turnwright.usage.cost_usd",
  callsAsked: "turnwright.iteration.calls",
  continuation: "turnwright.continuation",
  iteration: "turnwright.iteration",
  iterations: "turnwright.run.iterations",
  iterationStatus: "turnwright.iteration.status",
  pendingCalls: "turnwright.reason.pending_calls",
  purpose: "turnwright.request.purpose",
  reason: "turnwright.run.reason",
  replayedIterations: "turnwright.run.replayed_iterations",
  resumed: "turnwright.run.resumed",
  runId: "turnwright.run.id",
  status: "turnwright.run.status",
  toolCalls: "turnwright.run.tool_calls",
  toolExecuted: "turnwright.tool.executed",
  toolIndex: "turnwright.tool.index",
  toolOutcome: "turnwright.tool.outcome",
} as const;

/** Finish reasons with different names in OpenTelemetry's conventions. */
const finishNames: { readonly [Reason in FinishReason]?: string } = {
  "tool-calls": "tool_call",
  "content-filter": "content_filter",
};

export function finishNameOf(finish: FinishReason): string {
  return finishNames[finish] ?? finish;
}

export function settingsFacts(settings: ModelSettings = {}): Attributes {
  return definedIn({
    [genAi.requestMaxTokens]: settings.maxOutputTokens,
    [genAi.requestTemperature]: settings.temperature,
    [genAi.requestTopP]: settings.topP,
    [genAi.requestSeed]: settings.seed,
    [genAi.requestStopSequences]: settings.stopSequences && [...settings.stopSequences],
  });
}

/** Returns the attributes for token counts. As in `Usage`, input tokens include cached tokens, and output tokens include reasoning tokens. */
export function usageFacts(usage: Usage): Attributes {
  return definedIn({
    [genAi.usageInput]: usage.inputTokens,
    [genAi.usageOutput]: usage.outputTokens,
    [genAi.usageCacheRead]: usage.cachedInputTokens,
    [genAi.usageCacheWrite]: usage.cacheWriteTokens,
    [genAi.usageReasoning]: usage.reasoningTokens,
  });
}

export function limitFacts(limits: LoopLimits = {}): Attributes {
  const known = Object.entries(limits).filter(([limit]) => limit === "onUnknownCost" || Object.hasOwn(limitRules, limit));
  const given = known.filter(([, value]) => value !== Number.POSITIVE_INFINITY);
  return definedIn(Object.fromEntries(given.map(([limit, value]) => [`turnwright.limit.${toSnakeCase(limit)}`, value])));
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

type KeysOf<Reason> = Reason extends Reason ? keyof Reason : never;

/** Fields of an end reason that are recorded. Fields with text from outside, such as error messages, are omitted. */
const reasonFields: readonly KeysOf<EndReason>[] = [
  ...(["attempts", "count", "expectedUSD", "hook", "iteration", "limit", "limitMs", "limitUSD", "model"] as const),
  ...(["provider", "spent", "spentUSD", "toolName"] as const),
];

function factOf(reason: EndReason, key: string): AttributeValue | undefined {
  const fact: AttributeValue | undefined = Reflect.get(reason, key);
  return typeof fact === "string" ? cleanName(fact) : fact;
}

export function endingFacts({ status, reason, ...spent }: LoopEvents["run-end"]): Attributes {
  const facts = reasonFields.map((field) => [`turnwright.reason.${toSnakeCase(field)}`, factOf(reason, field)] as const);
  return definedIn({
    ...Object.fromEntries(facts),
    ...usageFacts(spent.usage),
    ...errorFacts(errorTypeOf(status, reason)),
    [own.status]: status,
    [own.reason]: reason.kind,
    [own.pendingCalls]: "calls" in reason ? reason.calls.length : undefined,
    [own.costUSD]: spent.costUSD,
    [own.iterations]: spent.iterations,
    [own.toolCalls]: spent.toolCallsExecuted,
    [common.httpStatus]: reason.kind === "provider-error" ? reason.error.status : undefined,
  });
}

export function errorFacts(errorType: string | undefined): Attributes {
  return errorType === undefined ? {} : { [common.errorType]: errorType };
}

export function thrownType(error: unknown): string {
  if (typeof error !== "object" || error === null) return otherError;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const type = [code, name].find((value) => typeof value === "string" && /^[\w.-]{1,64}$/.test(value));
  return typeof type === "string" ? type : otherError;
}

/**
 * Removes undefined attributes, and removes credentials from names and ids. For example, a program may pass a key where a model name
 * belongs.
 */
export function definedIn(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]): [string, AttributeValue][] => {
      if (value === undefined) return [];
      return [[name, names.has(name) ? cleanFact(value) : value]];
    }),
  );
}

/** Attributes whose value is a name, an id or a description chosen by the program or a provider. */
const names: ReadonlySet<string> = new Set([
  ...[genAi.agentName, genAi.conversationId, genAi.providerName, genAi.requestModel, genAi.responseModel],
  ...[genAi.requestStopSequences, genAi.toolDescription, own.runId],
]);

function cleanFact(value: AttributeValue): AttributeValue {
  if (typeof value === "string") return redactSecrets(value);
  return Array.isArray(value) ? value.map((item) => (typeof item === "string" ? redactSecrets(item) : "")) : value;
}
