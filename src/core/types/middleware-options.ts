import type { Json, JsonSchema, PlainError, Usage } from "./common.ts";
import type { DenyingGuardrail } from "./guardrails.ts";
import type { StreamResult } from "./provider.ts";
import type { ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { LoopAction, TriggerMatch } from "./loop-event.ts";
import type { ApprovalView, ToolDefinition } from "./tool.ts";

/**
 * The stages for successful results, in the order in which they run. Each stage is optional and may return a promise. A stage
 * that throws an error or takes longer than `timeouts.callbackMs` is skipped and reported to listeners.
 */
export interface ResultPipeline {
  /**
   * Called with each result as text, including the text parts of its content. Returns the text that replaces the result, or
   * undefined to keep the result.
   */
  processor?(toolName: string, output: string): string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor | undefined;
  readonly cacher?: ResultCacher | undefined;
}

/** Shortens large results, for example with a different model. */
export interface ResultExtractor {
  /** The size above which results are extracted, in estimated tokens. Default 15,000. */
  readonly threshold?: number | undefined;
  /** Returns the important part of a result, and optionally the usage of the extraction. */
  extract(output: string, facts: ExtractionFacts): string | ExtractedResult | PromiseLike<string | ExtractedResult>;
}

/** The second argument of `extract`: information about the result. */
export interface ExtractionFacts {
  readonly toolName: string;
  /** The text of the last user message, or "" if there is none. */
  readonly userText: string;
}

/** The text that an extraction returned, and its usage. */
export interface ExtractedResult {
  readonly text: string;
  /**
   * The tokens that the extraction used. These tokens are added to the run's usage, cost and limits. Default: no
   * tokens.
   */
  readonly usage?: Usage | undefined;
  /** The model that used the tokens, for `pricing`. Default: the run's provider and model. */
  readonly model?: { readonly provider: string; readonly model: string } | undefined;
}

/** Stores large results outside the transcript. */
export interface ResultCacher {
  /** The size above which results are stored, in estimated tokens. It is measured after the other stages. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The name of the tool that the text from `store` tells the model to call. A run without this tool is rejected. Default: none. */
  readonly toolName?: string | undefined;
  /** Stores a result, and returns the text that replaces it. */
  store(output: string, facts: { readonly toolName: string }): string | PromiseLike<string>;
}

/** Selects the tool results to mask. Masked results are replaced with a short note in later requests. */
export interface MaskingOptions {
  /**
   * The number of most recent iterations whose results are not masked. With `Infinity`, results are never masked because of their age.
   * Default 2.
   */
  readonly keepIterations?: number | undefined;
  /** Results with fewer estimated tokens than this are never masked. Default 500. */
  readonly minTokens?: number | undefined;
  /**
   * The numbers of iterations, counted from 0, whose results are masked even if they are recent. The set is read before each
   * iteration. A masked result stays masked.
   */
  readonly force?: ReadonlySet<number> | undefined;
  /**
   * The number of old iterations that are masked at the same time. With a higher number, fewer requests change earlier messages,
   * so a prompt cache can be used more often. Default 1.
   */
  readonly batchOf?: number | undefined;
}

/** Stores the results of a result cache as text, under ids that the cache creates. */
export interface ResultStore {
  /** Stores text under a new id. */
  write(id: string, text: string): void | PromiseLike<void>;
  /** Returns the text with this id, or undefined if there is none. */
  read(id: string): string | undefined | PromiseLike<string | undefined>;
  /** Removes stored text. Has no effect if the id is unknown. */
  remove(id: string): void | PromiseLike<void>;
  /** Returns the ids of everything stored, with their sizes in UTF-8 bytes. */
  list(): readonly StoredResult[] | PromiseLike<readonly StoredResult[]>;
}

/** The id and the size of one result in a result store. */
export interface StoredResult {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Keeps items for context restarts until the loop takes them. Useful for context that is too large or private for a tool result.
 */
export interface ContextStash extends ContextSource {
  /** Stores an item of JSON data, and returns its key for `pending_context_key`. */
  put(item: unknown): string;
  /** Removes and returns the item with this key. Returns undefined if the key is unknown, was already taken, or has expired. */
  take(key: string): Json | undefined;
}

/**
 * A function that is called for each response, before its tool calls run. If it throws an error, returns an invalid value or
 * takes longer than `timeouts.callbackMs`, the run ends as `hook-failed`.
 */
export type StopCondition = (context: StopContext) => boolean | StopDecision | PromiseLike<boolean | StopDecision>;

/** The decision of a stop condition. The values `true` and `false` also stop or continue the run, without a reason. */
export type StopDecision =
  | { readonly kind: "continue" }
  /** The `reason` appears in the run's result, and has no other effect. */
  | { readonly kind: "stop"; readonly reason?: string | undefined };

/** The argument of a stop condition. */
export interface StopContext {
  /** The number of the current iteration, counted from 1. */
  readonly iteration: number;
  /**
   * The model's response. If a response consists of several streams, the text, reasoning and calls are from all streams, and the
   * other fields are from the last stream.
   */
  readonly response: StreamResult;
  /** The usage of all streams and nested runs so far, including this response. */
  readonly totalUsage: Usage;
  /** The cost so far in USD, including this response. Undefined if any cost is unknown. */
  readonly costUSD: number | undefined;
  /** The number of tool calls that earlier iterations have started. */
  readonly toolCallsExecuted: number;
  /** The outcomes of the previous iteration's tool calls, in call order. */
  readonly lastToolResults: readonly ToolOutcome[];
}

/**
 * The part of each limit that is reserved for the final answer. The rest of the run may use only what remains. A field can be set only if
 * the run has the limit that it reserves from, and must be smaller than that limit. Default for each field: 0.
 */
export interface FinalAnswerReserve {
  /** The number of tokens to reserve from `limits.maxTokens`. */
  readonly tokens?: number | undefined;
  /** The amount in USD to reserve from `limits.maxCostUSD`. */
  readonly costUSD?: number | undefined;
  /**
   * The milliseconds to reserve from `limits.wallClockMs`. Tool calls that are still running when this time begins get the outcome
   * `timed-out`.
   */
  readonly ms?: number | undefined;
}

/** The messages that a summary replaces, as JSON data. The transcript keeps these messages. */
export interface CompactedMessages {
  /** The summary that the model receives instead of the messages. */
  readonly summary: string;
  /** The number of messages at the beginning of the transcript that the summary covers, including those in `kept`. */
  readonly count: number;
  /** The indexes, in ascending order, of the messages among the first `count` that stay in requests unchanged, before the summary. */
  readonly kept: readonly number[];
}

/** The recorded result of a compaction. */
export type CompactionAnswer = {
  /** The estimated token counts of the next request, before and after the compaction. They are equal if the compaction failed. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** The summary's usage, its cost in USD, and the model that wrote it. Absent if no request was sent. */
  readonly spending?: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD" | "provider" | "model"> | undefined;
} & (
  | { readonly kind: "compacted"; readonly compaction: CompactedMessages }
  /** `cancelled` is true if the run was stopped while the summary was being written. */
  | { readonly kind: "failed"; readonly error: PlainError; readonly cancelled?: true | undefined }
);

/** The options for `detectLoops`. */
export interface LoopDetectionOptions {
  /**
   * The number of consecutive repetitions that count as a loop. A loop is reported again at each multiple of this number. At least 2.
   * Default 3.
   */
  readonly threshold?: number | undefined;
  /**
   * The reaction to a loop. "warn" only emits an event, "inject-warning" also warns the model, and "stop" ends the run as
   * `loop-detected`. Default "warn".
   */
  readonly action?: LoopAction | undefined;
  /** The maximum number of iterations in a repeated sequence, from 1 to 100. With 2, the sequence A B A B is found. Default 4. */
  readonly maxCycle?: number | undefined;
  /** If true, a call counts as a repetition only if its result is equal too. Useful for a model that polls a job. Default false. */
  readonly compareResults?: boolean | undefined;
}

/** The options for `structuredOutput`. */
export interface StructuredOutputOptions {
  /** The JSON Schema that the model sees. Required if `schema` cannot be converted. Default: converted from `schema`. */
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Set to false to always describe the schema in the system text. If true, a provider with `structuresOutput` sends the schema
   * to the service, and the service enforces the schema. Default true.
   */
  readonly native?: boolean | undefined;
  /** The maximum number of consecutive retries after an invalid answer. Default 2. */
  readonly maxRetries?: number | undefined;
}

/**
 * Allows only the tools in `allowedNames` to run. If the list is empty, no tool may run. If the list is absent, all tools may
 * run.
 */
export interface DeliberateGate {
  readonly active: boolean;
  readonly allowedNames?: Iterable<string> | undefined;
  readonly triggerMatchByToolName?: ReadonlyMap<string, TriggerMatch> | undefined;
  /** The triggers that were not searched for because the search had reached its limit. The loop does not use this field. */
  readonly unsearched?: readonly string[] | undefined;
  /** Called for each successful tool call while the gate is active. */
  retain?(name: string): void;
}

/**
 * A function that decides about a call. It is called once for each call, after validation and before any call in the iteration
 * runs. If it throws an error or times out, the outcome of the call is `approval-failed`.
 */
export type Approve<Context = unknown> = {
  // Uses a method instead of a function type, because methods are bivariant. Options with a typed context can therefore be passed where the
  // context is unknown.
  decide(call: ToolCall, context: ApprovalContext<Context>): ApprovalDecision | PromiseLike<ApprovalDecision>;
}["decide"];

/** The second argument of `approve`. */
export interface ApprovalContext<Context = unknown> extends Omit<ApprovalView<Context>, "callId" | "name"> {
  /** The tool being called, including its traits. */
  readonly tool: ToolDefinition;
  /** True if the tool requires a decision about this call. If `needsApproval` is a function, it has already been called. */
  readonly needsApproval: boolean;
}

interface Decider {
  /**
   * The person who decided, such as the id of a user. The journal, the run log and the `approval-decided` event contain it; the model
   * and pages do not receive it. Never take it from a page.
   */
  readonly by?: string | undefined;
}

/** The decision about a call. The arguments of "modify" are validated again. */
export type ApprovalDecision =
  | (Decider & { readonly kind: "approve" })
  | (Decider & {
      readonly kind: "deny";
      readonly reason?: string | undefined;
      /** The `guardrails` check that denied the call. */
      readonly guardrail?: DenyingGuardrail | undefined;
    })
  | (Decider & { readonly kind: "modify"; readonly args: Json })
  /** No decision is possible yet. The run ends as `approval-required`, and can be resumed with `answers`. */
  | { readonly kind: "ask" };

/** The result of a waiting call: a value, or an error if the call failed. The model receives the value or the error. */
export type OutsideResult = (
  | { readonly kind: "result"; readonly result: Json }
  | { readonly kind: "failed"; readonly error: string }
) & {
  /** Set to true for a result that a web page sent. Such a result is refused unless the call has `fromPage`. Default false. */
  readonly fromPage?: boolean | undefined;
};

/**
 * A value in the `answers` option. Its kind must match the call's `waitsFor`. In addition, "ask" is always possible: the call
 * then continues to wait.
 */
export type CallDecision = ApprovalDecision | OutsideResult;

/** Settings for context restarts: the tools to hide, and the source of stored items. */
export interface RestartPolicy {
  /**
   * The tools to hide for the rest of the run. Each key is the suffix of a restart type, and its value lists the names of the
   * tools.
   */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
  /** The source of the items for `pending_context_key`. Created by `createContextStash`. Default: none. */
  readonly stash?: ContextSource | undefined;
}

/** A source of items for context restarts, such as a `ContextStash`. Each item can be taken once. */
export interface ContextSource {
  /**
   * Returns the item with this key. Returns undefined if the item does not exist or was already taken. If the method throws an
   * error or takes longer than `timeouts.callbackMs`, the run continues without the item.
   */
  take(key: string): Json | undefined | PromiseLike<Json | undefined>;
}

/**
 * Ends the run as `pre-tool-text` after an iteration with text, if every called tool succeeded and one of these conditions is
 * met: `endAfterTextFamilies` lists the provider's family, or each called tool is in `suppressFollowUpAfterText` or has
 * `requiresFollowUp: false`.
 */
export interface PreToolTextPolicy {
  /** The provider families whose models write the whole answer before their tool calls. Default: none. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** The names of tools that need no additional iteration if the model wrote text before the call. Default: none. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
