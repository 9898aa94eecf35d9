// Policies: optional rules for a run.

import type { JsonSchema, Masking, StandardSchema, Usage } from "./common.ts";
import type { Json } from "./json.ts";
import type { StreamResult } from "./provider.ts";
import type { ToolCall, ToolChange, ToolOutcome } from "./tool-outcome.ts";
import type { LoopAction, TriggerMatch } from "./loop-event.ts";
import type { ApprovalView, ToolDefinition } from "./tool.ts";

/** Processes successful results before they enter the transcript. Made by `processResults` or `truncateResults`. */
export interface ResultProcessing {
  readonly kind: "result-processing";
  /** The name of a tool that the cacher's texts tell the model to call. A run without this tool is rejected. */
  readonly toolName?: string | undefined;
}

/**
 * The stages that process successful results, in this order. Each stage is optional and may return a promise. A stage that throws
 * an error or takes longer than `timeouts.hookMs` is reported to listeners and skipped.
 */
export interface ResultPipeline {
  /**
   * Gets each result as text, including the text parts of its content. Returns the text that replaces the result, or undefined to
   * keep the result unchanged.
   */
  processor?(toolName: string, output: string): string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor | undefined;
  readonly cacher?: ResultCacher | undefined;
}

/** Condenses large results, for example with another model. */
export interface ResultExtractor {
  /** Only results with more estimated tokens than this number are extracted. Default 15,000. */
  readonly threshold?: number | undefined;
  /** Returns the important part of a result, and optionally the usage of the extraction. */
  extract(output: string, facts: ExtractionFacts): string | ExtractedResult | PromiseLike<string | ExtractedResult>;
}

/** Facts about a result that is extracted. */
export interface ExtractionFacts {
  readonly toolName: string;
  /** The text of the last user message, or "" if there is none. */
  readonly userText: string;
}

/** The text that an extraction made, and its usage. */
export interface ExtractedResult {
  readonly text: string;
  /** The tokens that the extraction used. They are added to the usage, the cost and the limits of the run. Default: no tokens. */
  readonly usage?: Usage | undefined;
  /** The model that used these tokens, for `pricing`. Default: the provider of the run. */
  readonly model?: { readonly provider: string; readonly model: string } | undefined;
}

/** Stores large results outside of the transcript. */
export interface ResultCacher {
  /**
   * Results with more estimated tokens than this number are stored. The tokens are counted after the other stages. Default 2,000.
   */
  readonly threshold?: number | undefined;
  /** The name of a tool that the returned texts tell the model to call. A run without this tool is rejected. Default: none. */
  readonly toolName?: string | undefined;
  /** Stores a result, and returns the text that replaces it. */
  store(output: string, facts: { readonly toolName: string }): string | PromiseLike<string>;
}

/** Selects the tool results that are masked, which means that they are omitted from later requests. */
export interface MaskingOptions {
  /** The number of latest iterations whose results are not masked. `Infinity` masks no result because of its age. Default 2. */
  readonly keepIterations?: number | undefined;
  /** Results with fewer estimated tokens than this number are never masked. Default 500. */
  readonly minTokens?: number | undefined;
  /**
   * Iterations, counted from 0, whose results are masked at any age. The set is read before each iteration. A masked result stays
   * masked.
   */
  readonly force?: ReadonlySet<number> | undefined;
  /**
   * The number of iterations from one masking by age to the next. With a higher number, most requests begin like the previous
   * request, which a prompt cache can use. Default 1.
   */
  readonly batchOf?: number | undefined;
}

/** Stores the texts of a result cache. The cache makes the ids. */
export interface ResultStore {
  /** Stores a text under a new id. */
  write(id: string, text: string): void | PromiseLike<void>;
  /** Returns the text with this id, or undefined if it does not exist. */
  read(id: string): string | undefined | PromiseLike<string | undefined>;
  /** Removes a text. Does nothing if the text does not exist. */
  remove(id: string): void | PromiseLike<void>;
  /** Returns the ids of all stored texts, with the size of each text in UTF-8 bytes. */
  list(): readonly StoredResult[] | PromiseLike<readonly StoredResult[]>;
}

/** One text in a result store. */
export interface StoredResult {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Keeps items for context restarts until the loop takes them. Use it for context that is too large or too private for a tool
 * result.
 */
export interface ContextStash extends ContextSource {
  /** Stores plain data, and returns a key for `pending_context_key`. */
  put(item: unknown): string;
  /** Removes and returns the item with this key. Returns undefined if the key is unknown, was already taken, or has expired. */
  take(key: string): Json | undefined;
}

/**
 * Called for each response before its calls run. A condition that throws an error, returns an invalid value or takes longer than
 * `timeouts.hookMs` ends the run as `hook-failed`.
 */
export type StopCondition = (context: StopContext) => boolean | StopDecision | PromiseLike<boolean | StopDecision>;

/** The decision of a stop condition. A condition can also return `true` to stop or `false` to continue, without a reason. */
export type StopDecision =
  | { readonly kind: "continue" }
  /** `reason` appears in the result of the run, and has no other effect. */
  | { readonly kind: "stop"; readonly reason?: string | undefined };

/** The argument of a stop condition. */
export interface StopContext {
  /** The number of this iteration, counted from 1. */
  readonly iteration: number;
  /** The response. If it has several streams, this is the last one, with the text, reasoning and calls of all streams. */
  readonly response: StreamResult;
  /** The usage of all streams and nested runs so far, including this response. */
  readonly totalUsage: Usage;
  /** The cost so far in USD, including this response. Undefined if it is unknown. */
  readonly costUSD: number | undefined;
  /** The number of calls that were started in earlier iterations. */
  readonly toolCallsExecuted: number;
  /** The outcomes of the calls of the previous iteration, in call order. */
  readonly lastToolResults: readonly ToolOutcome[];
}

/** Optional rules for a run. `Output` is the type of the value that `output` makes from the answer. */
export interface LoopPolicies<Output = unknown> {
  /** Blocks calls of tools that it does not allow. The model still sees these tools. */
  readonly gate?: DeliberateGate | undefined;
  /** Decides about each call that is ready to run. */
  readonly approve?: Approve | undefined;
  /**
   * Called when a run is resumed, for each tool change that recorded calls do not fit. Return `true` to accept the change.
   * Otherwise, and by default, the run rejects with LoopError "tools-changed".
   */
  readonly allowToolChange?: ((change: ToolChange) => boolean) | undefined;
  /** Settings for context restarts: the tools to hide, and the source of stored context. */
  readonly restarts?: RestartPolicy | undefined;
  /** Ends a run if the model has written its whole answer before its tool calls. */
  readonly preToolText?: PreToolTextPolicy | undefined;
  /** Grants one more iteration, without tools, if the iteration limit or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
  /**
   * Ends the run as `stop-condition` before the calls of a response run. If there are several conditions, they are called in
   * order until one of them stops the run.
   */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Detects a model that repeats its calls. Made by `detectLoops`. Default: none. */
  readonly loopDetection?: LoopDetection | undefined;
  /**
   * Makes a value from the answer. The answer is parsed and validated, and requested again if it does not fit. Made by
   * `structuredOutput`. Default: none.
   */
  readonly output?: StructuredOutput<Output> | undefined;
  /** Processes successful results before they enter the transcript. Made by `processResults` or `truncateResults`. Default: none. */
  readonly results?: ResultProcessing | undefined;
  /** Omits old tool results from requests. Made by `maskResults`. Default: none. */
  readonly masking?: Masking | undefined;
}

/** Detects a model that repeats its calls. Made by `detectLoops`. */
export interface LoopDetection {
  readonly kind: "loop-detection";
}

/** Settings for the detection of loops. */
export interface LoopDetectionOptions {
  /**
   * The number of consecutive repetitions that is a loop. Each multiple of this number is reported again. At least 2. Default 3.
   */
  readonly threshold?: number | undefined;
  /**
   * The reaction to a loop. "warn" only emits an event. "stop" ends the run as `loop-detected`. "inject-warning" also emits the
   * event, and warns the model. Default "warn".
   */
  readonly action?: LoopAction | undefined;
  /** The maximum length of a repeated sequence, in iterations, from 1 to 100. With 2, the sequence A B A B is found. Default 4. */
  readonly maxCycle?: number | undefined;
  /** Set to true if equal calls with different results are not a repetition, for example if a model polls a job. Default false. */
  readonly compareResults?: boolean | undefined;
}

/** Makes a value from the answer. Made by `structuredOutput`. `Output` is the output type of the schema. */
export interface StructuredOutput<Output = unknown> {
  readonly kind: "structured-output";
  /** Validates the answer. */
  readonly schema: StandardSchema<unknown, Output>;
}

/** Settings for the request for an answer that fits a schema. */
export interface StructuredOutputOptions {
  /** The JSON Schema to show to the model. Required if the schema cannot be converted. Default: converted from the schema. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** The maximum number of consecutive retries after an answer that does not fit. Default 2. */
  readonly maxRetries?: number | undefined;
}

/**
 * Allows only some tools to run. Without `allowedNames`, all tools are allowed. If `allowedNames` is empty, no tool is allowed.
 */
export interface DeliberateGate {
  readonly active: boolean;
  readonly allowedNames?: Iterable<string> | undefined;
  readonly triggerMatchByToolName?: ReadonlyMap<string, TriggerMatch> | undefined;
  /** Triggers that were not searched for, because the search had reached its limit. The loop does not use this field. */
  readonly unsearched?: readonly string[] | undefined;
  /** Called for each successful tool call while the gate is active. */
  retain?(name: string): void;
}

/**
 * Called once for each call, after validation and before any call of the iteration runs. If it throws an error or times out, the
 * outcome of the call is `approval-failed`.
 */
export type Approve = (call: ToolCall, context: ApprovalContext) => ApprovalDecision | PromiseLike<ApprovalDecision>;

/** The second argument of `approve`. */
export interface ApprovalContext extends Omit<ApprovalView, "callId" | "name"> {
  /** The called tool, with its traits. */
  readonly tool: ToolDefinition;
  /** True if the tool requires a decision about this call. A `needsApproval` function was already called. */
  readonly needsApproval: boolean;
}

/** The decision about a call. The arguments of a "modify" decision are validated again. */
export type ApprovalDecision =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string | undefined }
  | { readonly kind: "modify"; readonly args: Json }
  /** No decision is possible now. The run ends as `approval-required`, and continues when it is resumed with `decisions`. */
  | { readonly kind: "ask" };

/** The result of a waiting call: a value, or an error if the call failed. The model reads the value or the error. */
export type OutsideResult = (
  | { readonly kind: "result"; readonly result: Json }
  | { readonly kind: "failed"; readonly error: string }
) & {
  /** Set to true for a result that a page sent. Such a result is refused unless the call has `fromPage`. Default false. */
  readonly fromPage?: boolean | undefined;
};

/**
 * An entry of the option `decisions`. The entry must fit `waitsFor` of its call. "ask" fits every call, and lets the call continue
 * to wait.
 */
export type CallDecision = ApprovalDecision | OutsideResult;

/** Settings for context restarts. */
export interface RestartPolicy {
  /** Maps the suffix of a restart type to the names of the tools to hide for the rest of the run. */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
  /** The source of the items for `pending_context_key`. Made by `createContextStash`. Default: none. */
  readonly stash?: ContextSource | undefined;
}

/** A source of items for context restarts, such as a `ContextStash`. Each item can be taken once. */
export interface ContextSource {
  /**
   * Returns the item with this key, or undefined if there is none or it was already taken. If the method throws an error or takes
   * longer than `timeouts.hookMs`, the run continues without the item.
   */
  take(key: string): Json | undefined | PromiseLike<Json | undefined>;
}

/**
 * Ends the run as `pre-tool-text` after an iteration in which the model wrote text and every tool that it called succeeded. One
 * of two conditions must also be met: the family of the provider is listed, or each called tool is listed or has
 * `requiresFollowUp: false`.
 */
export interface PreToolTextPolicy {
  /** The families of providers whose models write the whole answer before their calls. Default: none. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** The names of tools after which the model needs no further iteration. Default: none. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
