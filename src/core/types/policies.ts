// Policies: rules that the caller sets for a run.

import type { JsonSchema, Masking, StandardSchema, Usage } from "./common.ts";
import type { Json } from "./json.ts";
import type { StreamResult } from "./provider.ts";
import type { ToolCall, ToolChange, ToolOutcome } from "./tool-outcome.ts";
import type { LoopAction, TriggerMatch } from "./loop-event.ts";
import type { ApprovalView, ToolDefinition } from "./tool.ts";

/** Processes successful results before they enter the transcript. Made by `processResults` or `truncateResults`. */
export interface ResultProcessing {
  readonly kind: "result-processing";
  /** The tool that the texts of the cacher name. A run that lacks this tool is rejected. */
  readonly toolName?: string | undefined;
}

/**
 * The stages that process successful results, in this order. Each is optional and may return a promise. A stage that throws or
 * takes longer than `timeouts.hookMs` is reported to listeners and skipped.
 */
export interface ResultPipeline {
  /**
   * Gets each result as text, including the text parts of its content. Returns the text that replaces it; undefined leaves it
   * unchanged.
   */
  processor?(toolName: string, output: string): string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor | undefined;
  readonly cacher?: ResultCacher | undefined;
}

/** Condenses large results, for example with another model. */
export interface ResultExtractor {
  /** Results of more estimated tokens than this are extracted. Default 15,000. */
  readonly threshold?: number | undefined;
  /** Returns the important part of a result, and optionally the usage of the extraction. */
  extract(output: string, facts: ExtractionFacts): string | ExtractedResult | PromiseLike<string | ExtractedResult>;
}

/** The result's context for an extraction. */
export interface ExtractionFacts {
  readonly toolName: string;
  /** The text of the last user message; empty if there is none. */
  readonly userText: string;
}

/** The result of an extraction. */
export interface ExtractedResult {
  readonly text: string;
  /** Counts towards the usage, the cost and the limits of the run. Default none. */
  readonly usage?: Usage | undefined;
  /** The model that used these tokens, for `pricing`. Default: the provider of the run. */
  readonly model?: { readonly provider: string; readonly model: string } | undefined;
}

/** Keeps large results elsewhere. */
export interface ResultCacher {
  /** Results that still have more estimated tokens than this after the other stages are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The tool that its texts name. A run that lacks this tool is rejected. Default none. */
  readonly toolName?: string | undefined;
  /** Stores a result, and returns the text that replaces it. */
  store(output: string, facts: { readonly toolName: string }): string | PromiseLike<string>;
}

/** Selects the results that a request leaves out. */
export interface MaskingOptions {
  /** How many iterations before a request keep their results. `Infinity` masks nothing by age. Default 2. */
  readonly keepIterations?: number | undefined;
  /** Results with fewer estimated tokens are kept. Default 500. */
  readonly minTokens?: number | undefined;
  /** 0-based iterations whose results are masked at any age. Read before each iteration; a masked result stays masked. */
  readonly force?: ReadonlySet<number> | undefined;
  /** Masks by age in steps of this many iterations, so that most requests share the prefix of the one before. Default 1. */
  readonly batchOf?: number | undefined;
}

/** Keeps the texts of a result cache. The cache makes the ids. */
export interface ResultStore {
  /** Keeps a text under a new id. */
  write(id: string, text: string): void | PromiseLike<void>;
  /** Returns the text, or undefined if there is none or it was removed. */
  read(id: string): string | undefined | PromiseLike<string | undefined>;
  /** Removes a text. Does nothing if the text does not exist. */
  remove(id: string): void | PromiseLike<void>;
  /** Returns all stored ids with their sizes in bytes of UTF-8. */
  list(): readonly StoredResult[] | PromiseLike<readonly StoredResult[]>;
}

/** One text in a store. */
export interface StoredResult {
  readonly id: string;
  readonly bytes: number;
}

/** Holds context for a restart until the loop takes it. For context that is too large or too private for a tool result. */
export interface ContextStash extends ContextSource {
  /** Stores plain data, and returns a key for `pending_context_key`. */
  put(item: unknown): string;
  /** Removes and returns the item of a key. Undefined if the key is unknown, already taken or expired. */
  take(key: string): Json | undefined;
}

/**
 * Called for each response before its calls run. A condition that throws, returns anything else or takes longer than
 * `timeouts.hookMs` ends the run.
 */
export type StopCondition = (context: StopContext) => boolean | StopDecision | PromiseLike<boolean | StopDecision>;

/** The result of a stop condition. `true` means stop and `false` means continue, both without a reason. */
export type StopDecision =
  | { readonly kind: "continue" }
  /** `reason` is only recorded in the result. */
  | { readonly kind: "stop"; readonly reason?: string | undefined };

/** The argument of a stop condition. */
export interface StopContext {
  /** The number of this iteration, from 1. */
  readonly iteration: number;
  /** The response. If it came in several streams: the last one, with the text, reasoning and calls of all. */
  readonly response: StreamResult;
  /** Usage of all streams and nested runs so far, including this response. */
  readonly totalUsage: Usage;
  /** USD so far, including this response; undefined if unknown. */
  readonly costUSD: number | undefined;
  /** Calls that earlier iterations dispatched. */
  readonly toolCallsExecuted: number;
  /** Outcomes of the calls of the last batch, in call order. */
  readonly lastToolResults: readonly ToolOutcome[];
}

/** Optional rules for a run. `Output` is the output type of the schema of a structured answer. */
export interface LoopPolicies<Output = unknown> {
  /** Blocks calls by name; does not hide tools. */
  readonly gate?: DeliberateGate | undefined;
  /** Decides about each call that is ready to run. */
  readonly approve?: Approve | undefined;
  /**
   * Called when a run is resumed, for each change of a tool that no longer fits its recorded calls. Only `true` lets the run
   * continue. Default: the run is rejected as `tools-changed`.
   */
  readonly allowToolChange?: ((change: ToolChange) => boolean) | undefined;
  /** Settings of context restarts: the tools that they hide, and the source of stored context. */
  readonly restarts?: RestartPolicy | undefined;
  /** Ends runs whose model gave its whole answer before it called its tools. */
  readonly preToolText?: PreToolTextPolicy | undefined;
  /** Grants one more iteration, without tools, if the iteration limit or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
  /** Ends the run as `stop-condition` before the calls of a response run. With several conditions, the first that says stop decides. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Detects a model that repeats its calls; made by `detectLoops`. Default none. */
  readonly loopDetection?: LoopDetection | undefined;
  /**
   * Turns the answer into a value. The answer is parsed and validated, and requested again if it does not fit. Made by
   * `structuredOutput`. Default none.
   */
  readonly output?: StructuredOutput<Output> | undefined;
  /** Processes successful results before they enter the transcript; made by `processResults` or `truncateResults`. Default none. */
  readonly results?: ResultProcessing | undefined;
  /** Clears old tool results from requests; made by `maskResults`. Default none. */
  readonly masking?: Masking | undefined;
}

/** Detects a model that repeats its calls. Made by `detectLoops`. */
export interface LoopDetection {
  readonly kind: "loop-detection";
}

/** Defines when repeated calls are a loop, and how the run reacts. */
export interface LoopDetectionOptions {
  /** Number of repetitions in a row. Each multiple counts again. At least 2. Default 3. */
  readonly threshold?: number | undefined;
  /** "warn" only emits an event; "stop" ends the run as `loop-detected`; "inject-warning" also warns the model. Default "warn". */
  readonly action?: LoopAction | undefined;
  /** The longest sequence of iterations to look for, 1 to 100: 2 finds A B A B. Default 4. */
  readonly maxCycle?: number | undefined;
  /** True if calls with changed results are different calls, such as those of a model that polls. Default false. */
  readonly compareResults?: boolean | undefined;
}

/** Turns the answer into a value. Made by `structuredOutput`. `Output` is the output type of its schema. */
export interface StructuredOutput<Output = unknown> {
  readonly kind: "structured-output";
  /** Validates the answer. */
  readonly schema: StandardSchema<unknown, Output>;
}

/** How the model is asked for an answer that fits a schema. */
export interface StructuredOutputOptions {
  /** Shown to the model instead of the JSON Schema made from the schema. Needed if the schema cannot be converted. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** How often in a row the model is asked again after an answer that does not fit. Default 2. */
  readonly maxRetries?: number | undefined;
}

/** Lets only some tools run. An empty allowlist allows none; without an allowlist all are allowed. */
export interface DeliberateGate {
  readonly active: boolean;
  readonly allowedNames?: Iterable<string> | undefined;
  readonly triggerMatchByToolName?: ReadonlyMap<string, TriggerMatch> | undefined;
  /** Triggers that the gate had no time to search for. Informational: the loop does not read it. */
  readonly unsearched?: readonly string[] | undefined;
  /** Called for each successful tool call while the gate is active. */
  retain?(name: string): void;
}

/**
 * Called once per call, after validation and before anything of the batch runs. If it throws or times out, the call is
 * `approval-failed`.
 */
export type Approve = (call: ToolCall, context: ApprovalContext) => ApprovalDecision | PromiseLike<ApprovalDecision>;

/** The second argument of `approve`. */
export interface ApprovalContext extends Omit<ApprovalView, "callId" | "name"> {
  /** The called tool, with its traits. */
  readonly tool: ToolDefinition;
  /** True if the tool requires a decision about this call. A `needsApproval` function was already called. */
  readonly needsApproval: boolean;
}

/** The result of an approval. Edited arguments are validated again. */
export type ApprovalDecision =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string | undefined }
  | { readonly kind: "modify"; readonly args: Json }
  /** No decision is possible now. The run ends as `approval-required`, and continues when it is resumed with `decisions`. */
  | { readonly kind: "ask" };

/** The result of a call that waits for one: its value, or that it failed. The model reads either. */
export type OutsideResult =
  | { readonly kind: "result"; readonly result: Json }
  | { readonly kind: "failed"; readonly error: string };

/** An entry of the option `decisions`. It must fit what its call waits for; "ask" lets any call go on waiting. */
export type CallDecision = ApprovalDecision | OutsideResult;

/** The effects of a context restart, besides adding its item. */
export interface RestartPolicy {
  /** Maps the suffix of a restart type to the tools that it hides for the rest of the run. */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
  /** The source of the item of a `pending_context_key`; made by `createContextStash`. Default none. */
  readonly stash?: ContextSource | undefined;
}

/** A source of context, from which each key can be taken once: a `ContextStash`, or a store of the caller. */
export interface ContextSource {
  /**
   * Returns the item, or undefined if there is none or it was taken. Throwing or taking longer than `timeouts.hookMs` counts as
   * no item.
   */
  take(key: string): Json | undefined | PromiseLike<Json | undefined>;
}

/**
 * Ends the run as `pre-tool-text` after an iteration in which the model wrote text and every tool it called succeeded. It applies
 * if the provider's family is listed. It also applies if each called tool is listed, or has `requiresFollowUp: false`.
 */
export interface PreToolTextPolicy {
  /** Families of providers whose text is the whole answer. Default none. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** Tools after which the model has nothing to add. Default none. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
