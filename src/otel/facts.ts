// What attributes are made of: settings, usage, endings. Numbers and names; no texts.

import type { Attributes, AttributeValue } from "@opentelemetry/api";
import type { LoopEvents, LoopLimits, ModelSettings, EndReason, Usage } from "../core/provider-kit.ts";
import { cutName, errorTypeOf } from "../core/observe-kit.ts";
import { common, genAi, otherError, own } from "./names.ts";

/** Settings of a request. */
export function settingsFacts(settings: ModelSettings = {}): Attributes {
  return definedIn({
    [genAi.requestMaxTokens]: settings.maxOutputTokens,
    [genAi.requestTemperature]: settings.temperature,
    [genAi.requestTopP]: settings.topP,
    [genAi.requestSeed]: settings.seed,
    [genAi.requestStopSequences]: settings.stopSequences && [...settings.stopSequences],
  });
}

/** Tokens. The conventions count cached ones as part of the input, and reasoning as part of the output, as `Usage` does. */
export function usageFacts(usage: Usage): Attributes {
  return definedIn({
    [genAi.usageInput]: usage.inputTokens,
    [genAi.usageOutput]: usage.outputTokens,
    [genAi.usageCacheRead]: usage.cachedInputTokens,
    [genAi.usageCacheWrite]: usage.cacheWriteTokens,
    [genAi.usageReasoning]: usage.reasoningTokens,
  });
}

/** How a limit is called. A new limit without a name does not compile. */
const limitNames: { readonly [Limit in keyof Required<LoopLimits>]: string } = {
  maxIterations: "turnwright.limit.max_iterations",
  softWarnIteration: "turnwright.limit.soft_warn_iteration",
  maxConsecutiveToolErrors: "turnwright.limit.max_consecutive_tool_errors",
  maxRestarts: "turnwright.limit.max_restarts",
  maxInterrupts: "turnwright.limit.max_interrupts",
  maxIdenticalCalls: "turnwright.limit.max_identical_calls",
  maxPauses: "turnwright.limit.max_pauses",
  maxDepth: "turnwright.limit.max_depth",
  toolConcurrency: "turnwright.limit.tool_concurrency",
  maxToolCalls: "turnwright.limit.max_tool_calls",
  maxTokens: "turnwright.limit.max_tokens",
  maxCostUSD: "turnwright.limit.max_cost_usd",
  onUnknownCost: "turnwright.limit.on_unknown_cost",
  wallClockMs: "turnwright.limit.wall_clock_ms",
};

/** The limits that a run was given; `Infinity` is none. */
export function limitFacts(limits: LoopLimits = {}): Attributes {
  const given = Object.entries(limitNames).map(([limit, name]) => [name, Reflect.get(limits, limit)] as const);
  return definedIn(Object.fromEntries(given.filter(([, value]) => value !== Number.POSITIVE_INFINITY)));
}

type KeysOf<Reason> = Reason extends Reason ? keyof Reason : never;

/** What of a reason is told: its numbers, and names that the program gave. Its texts, errors and messages are not. */
const reasonNames: { readonly [Key in KeysOf<EndReason>]?: string } = {
  attempts: "turnwright.reason.attempts",
  count: "turnwright.reason.count",
  expectedUSD: "turnwright.reason.expected_usd",
  hook: "turnwright.reason.hook",
  iteration: "turnwright.reason.iteration",
  limit: "turnwright.reason.limit",
  limitMs: "turnwright.reason.limit_ms",
  limitUSD: "turnwright.reason.limit_usd",
  model: "turnwright.reason.model",
  provider: "turnwright.reason.provider",
  spent: "turnwright.reason.spent",
  spentUSD: "turnwright.reason.spent_usd",
  toolName: "turnwright.reason.tool_name",
};

/** The first tool of a loop may have a name that the model made up. */
function factOf(reason: EndReason, key: string): AttributeValue | undefined {
  const fact: AttributeValue | undefined = Reflect.get(reason, key);
  return typeof fact === "string" ? cutName(fact) : fact;
}

/** How a run ended, and what it used. */
export function endingFacts({ status, reason, ...spent }: LoopEvents["run-end"]): Attributes {
  const facts = Object.entries(reasonNames).map(([key, name]) => [name, factOf(reason, key)] as const);
  return definedIn({
    ...Object.fromEntries(facts),
    ...usageFacts(spent.usage),
    ...errorFacts(errorTypeOf(status, reason)),
    [own.status]: status,
    [own.reason]: reason.kind,
    [own.pendingCalls]: reason.kind === "approval-required" ? reason.calls.length : undefined,
    [own.costUSD]: spent.costUSD,
    [own.iterations]: spent.iterations,
    [own.toolCalls]: spent.toolCallsExecuted,
    [common.httpStatus]: reason.kind === "provider-error" ? reason.error.status : undefined,
  });
}

/** `error.type`, where there is one. */
export function errorFacts(errorType: string | undefined): Attributes {
  return errorType === undefined ? {} : { [common.errorType]: errorType };
}

/** What something thrown is called: its code, else its name. */
export function thrownType(error: unknown): string {
  if (typeof error !== "object" || error === null) return otherError;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const type = [code, name].find((value) => typeof value === "string" && /^[\w.-]{1,64}$/.test(value));
  return typeof type === "string" ? type : otherError;
}

/** What is there. */
export function definedIn(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
