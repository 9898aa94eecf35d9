// A summary for llms.txt: middleware, `withRetry` and `withFallback`. If a type here differs from the real type, the compiler
// reports an error.

import assert from "node:assert/strict";
import * as turnwright from "turnwright";
import type { ContextSource, Json, JsonSchema, ResultPipeline } from "turnwright";
import type { ResultExtractor } from "turnwright/kit";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ResultCacher = NonNullable<ResultPipeline["cacher"]>;
type LoopAction = NonNullable<ArgumentOf<typeof turnwright.detectLoops>["action"]>;

// #region middleware
// the recommended order, the outermost first; functions of "turnwright", if the comment names no entry
type Order = [
  "onIteration", // (iteration, state) => { abort: true, reason? } ends the run
  "maskResults", // clears old results from requests, not from the transcript
  "createHandoffs", // of turnwright/middleware: the run continues as another agent
  "compactMessages", // of turnwright/middleware: a summary replaces old messages in requests
  "contextRestarts", // shows items to the model at the end of each request; tools add some with contextRestart
  "prepareIteration", // (view) => { provider?, tools?, toolChoice?, system?, modelSettings? }
  "eagerTools", // of tools with `eager`: started while the model still streams
  "deferTools", // of tools with `deferred`: shown after a search has found them
  "structuredOutput", // the answer as a value; the service or the system text gets the schema
  "detectLoops",
  "stopWhen", // ({ iteration, response, totalUsage, ... }) => true | { kind: "stop", reason? } | ...
  "finalAnswer", // one more iteration without tools at a limit; reserve: { tokens?, costUSD?, ms? }
  "preToolText", // ends the run after a message with both text and tool calls; only for the listed model families or tools
  "guardrails", // of turnwright/middleware: input, output, tools
  "watchPromptCache", // of turnwright/middleware: result.cache and the event "cache-break"
  "gateTools", // { active, allowedNames?, triggerMatchByToolName?, retain? }
  "processResults", // or truncateResults: changes results that the model reads
  "approve", // (call, context) => { kind: "approve" | "ask" } | { kind: "deny", reason? } | { kind: "modify", args }
];

interface Restarts {
  readonly effects?: { readonly [suffix: string]: readonly string[] }; // the tools to hide after a restart
  readonly stash?: ContextSource;
  readonly items?: readonly Json[];
  readonly maxRestarts?: number; // 5
}

interface TextBesideCalls {
  readonly endAfterTextFamilies?: readonly string[]; // []; values are the `family` of a provider, not its `id`
  readonly suppressFollowUpAfterText?: readonly string[]; // []; values are tool names
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
// #endregion middleware

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
  cooldownMs?: number; // 0; a failed provider is tried last for this long
}
// #endregion wrappers

expectNone<Differing<Retries, ArgumentOf<typeof turnwright.withRetry, 1>>>();
expectNone<Differing<Fallback, ArgumentOf<typeof turnwright.withFallback, 1>>>();
expectNone<Differing<Restarts, ArgumentOf<typeof turnwright.contextRestarts>>>();
expectNone<Differing<TextBesideCalls, ArgumentOf<typeof turnwright.preToolText>>>();
expectNone<Differing<Results, ResultPipeline>>();
expectNone<Differing<MaskedResults, ArgumentOf<typeof turnwright.maskResults>>>();
expectNone<Differing<Loops, ArgumentOf<typeof turnwright.detectLoops>>>();
expectNone<Differing<Structured, ArgumentOf<typeof turnwright.structuredOutput, 1>>>();

const last: Order[17] = "approve";
assert.equal(typeof new Map<string, unknown>(Object.entries(turnwright)).get(last), "function");
