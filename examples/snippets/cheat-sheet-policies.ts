// A summary for llms.txt: the policies, `withRetry` and `withFallback`. If a type here differs from the real type, the compiler
// reports an error.

import assert from "node:assert/strict";
import type {
  Approve,
  Compaction,
  ContextSource,
  DeliberateGate,
  FallbackOptions,
  Handoffs,
  JsonSchema,
  LoopPolicies,
  ResultCacher,
  ResultExtractor,
  ResultPipeline,
  Middleware,
  RetryOptions,
  StopCondition,
  StructuredOutput,
} from "turnwright";
import type {
  FinalAnswerReserve,
  LoopAction,
  LoopDetectionOptions,
  MaskingOptions,
  PromptCacheWatch,
  StructuredOutputOptions,
  ToolChange,
} from "turnwright/parts";
import { type Differing, expectNone } from "./same-names.ts";

// #region policies
interface Policies {
  allowToolChange?: (change: ToolChange) => boolean; // on resume, if recorded calls no longer fit a tool; default: LoopError "tools-changed"
  approve?: Approve; // (call, context) => { kind: "approve" | "ask" } | { kind: "deny", reason? } | { kind: "modify", args }
  gate?: DeliberateGate; // { active, allowedNames?, triggerMatchByToolName?, retain? }
  restarts?: { readonly effects?: Record<string, readonly string[]>; readonly stash?: ContextSource };
  // ends the run after a message with both text and tool calls; only for the listed model families or tools
  preToolText?: {
    readonly endAfterTextFamilies?: readonly string[]; // []; values are the `family` of a provider, not its `id`
    readonly suppressFollowUpAfterText?: readonly string[]; // []; values are tool names
  };
  results?: Middleware; // processResults({ processor, extractor, cacher }) or truncateResults(...): changes results the model reads
  masking?: Middleware; // maskResults({ ... }): clears old results from requests, not from the transcript
  compaction?: Compaction; // compactMessages({ ... }) from turnwright/compaction: a summary replaces old messages in requests
  guardrails?: Middleware; // guardrails({ input, output, tools }) from "turnwright/guardrails"
  handoffs?: Handoffs; // createHandoffs({ agents, start }) from "turnwright/handoffs"; brings the tools of the agents
  promptCache?: PromptCacheWatch; // watchPromptCache() from "turnwright/prompt-cache": result.cache and the event "cache-break"
  finalAnswer?: boolean | { readonly reserve: FinalAnswerReserve }; // one more iteration without tools at a limit; reserve: { tokens?, costUSD?, ms? }
  stopWhen?: StopCondition | readonly StopCondition[]; // ({ iteration, response, totalUsage, ... }) => true | { kind: "stop", reason? } | ...
  loopDetection?: Middleware; // detectLoops({ ... })
  output?: StructuredOutput; // structuredOutput(schema, { ... }): the answer as a value; the service or the system text gets the schema
}

interface Results {
  // these functions change a result in the listed order; each of them may be async
  readonly processor?: (toolName: string, output: string) => string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor; // { threshold?: 15,000, extract(output, { toolName, userText }) => text | { text, usage?, model? } }
  readonly cacher?: ResultCacher; // { threshold?: 2,000, toolName?: the tool it points to, store(output, { toolName }) => text }
}

interface MaskedResults {
  readonly keepIterations?: number; // 2
  readonly minTokens?: number; // 500
  readonly batchOf?: number; // 1: masks in steps of this many iterations, for the prompt cache
  readonly force?: ReadonlySet<number>; // iterations, counted from 0, whose results are masked even if they are new
}

interface Loops {
  readonly threshold?: number; // 3 times in a row
  readonly action?: LoopAction; // "warn" | "stop" | "inject-warning"
  readonly maxCycle?: number; // 4 iterations
  readonly compareResults?: boolean; // false
}

interface Structured {
  readonly jsonSchema?: JsonSchema; // if the schema cannot be converted to JSON Schema
  readonly native?: boolean; // true: a provider that supports it sends the schema to the service; false: always instructions in `system`
  readonly maxRetries?: number; // 2
}
// #endregion policies

// #region wrappers
interface Retries {
  maxAttempts?: number; // 3
  baseDelayMs?: number; // 500, doubled with each attempt
  maxDelayMs?: number; // 30,000
  maxRetryAfterMs?: number; // 60,000: no retry if the service asks for a longer wait
  random?: () => number; // Math.random
}

interface Fallback {
  firstChunkMs?: number; // for every provider except the last one; default: the run's timeouts
  streamIdleMs?: number;
  restMs?: number; // 0; a failed provider is tried last for this long
}
// #endregion wrappers

expectNone<Differing<Retries, RetryOptions>>();
expectNone<Differing<Fallback, FallbackOptions>>();
expectNone<Differing<Policies, LoopPolicies>>();
expectNone<Differing<Results, ResultPipeline>>();
expectNone<Differing<MaskedResults, MaskingOptions>>();
expectNone<Differing<Loops, LoopDetectionOptions>>();
expectNone<Differing<Structured, StructuredOutputOptions>>();

/** The compiler reports an error here if the summary differs from the real types. */
const holds = (policies: Policies): LoopPolicies => policies;
assert.deepEqual(holds({ finalAnswer: true }), { finalAnswer: true });
