// Every name that spans and metrics carry.

import type { FinishReason } from "../core/provider-kit.ts";

/**
 * Names of OpenTelemetry's conventions for generative AI, all of status "development": github.com/open-telemetry/semantic-conventions-genai,
 * docs/registry/attributes/gen-ai.md, docs/gen-ai/gen-ai-agent-spans.md and client-inference.md, read in November 2026. `cache_write` was
 * called `cache_creation` before.
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

/** Stable names: github.com/open-telemetry/semantic-conventions, docs/registry/attributes/error.md and http.md. */
export const common = { errorType: "error.type", httpStatus: "http.response.status_code" } as const;

/** What an error is called of which nothing else is known. */
export const otherError = "_OTHER";

/** What tokens are of is not told apart. */
export const unknownModality = "unknown";

/** Why a model stopped, where it began to answer and nobody said why it stopped: it was stopped, or cut off. */
export const unfinished = "error";

/** Values of `gen_ai.operation.name`; a span's name begins with it. */
export const operations = { run: "invoke_agent", stream: "chat", call: "execute_tool" } as const;

/** Names of the library's own. */
export const own = {
  attempt: "turnwright.attempt",
  broken: "turnwright.run.broken",
  costUSD: "turnwright.usage.cost_usd",
  callsAsked: "turnwright.iteration.calls",
  cycle: "turnwright.loop.cycle",
  decision: "turnwright.approval.decision",
  disabledTools: "turnwright.restart.disabled_tools",
  continuation: "turnwright.continuation",
  iteration: "turnwright.iteration",
  iterations: "turnwright.run.iterations",
  lateSuccess: "turnwright.late.success",
  loopAction: "turnwright.loop.action",
  loopCount: "turnwright.loop.count",
  iterationStatus: "turnwright.iteration.status",
  pendingCalls: "turnwright.reason.pending_calls",
  reason: "turnwright.run.reason",
  replayedIterations: "turnwright.run.replayed_passes",
  restartSuffix: "turnwright.restart.suffix",
  resumed: "turnwright.run.resumed",
  runId: "turnwright.run.id",
  status: "turnwright.run.status",
  toolCalls: "turnwright.run.tool_calls",
  toolExecuted: "turnwright.tool.executed",
  toolIndex: "turnwright.tool.index",
  toolOutcome: "turnwright.tool.outcome",
} as const;

/** The words of the conventions for why a model stopped; other reasons keep the library's own. */
const finishNames: { readonly [Reason in FinishReason]?: string } = {
  "tool-calls": "tool_call",
  "content-filter": "content_filter",
};

/** Why a model stopped, as the conventions say it. */
export function finishNameOf(finish: FinishReason): string {
  return finishNames[finish] ?? finish;
}
