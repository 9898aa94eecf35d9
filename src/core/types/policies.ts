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
  /** The tool that the texts of its cacher point to: a run whose list of tools lacks it is refused. */
  readonly toolName?: string | undefined;
}

/**
 * The stages that successful results pass, in this order. Each is optional and may return a promise. A stage that throws or takes longer
 * than `hookMs` is reported to listeners and skipped.
 */
export interface ResultPipeline {
  /** Gets each result as text, with the text parts of its content, and gives the text to put in their place; undefined leaves it as it is. */
  processor?(toolName: string, output: string): string | undefined | PromiseLike<string | undefined>;
  readonly extractor?: ResultExtractor | undefined;
  readonly cacher?: ResultCacher | undefined;
}

/** Condenses large results, with a model of its own for instance. */
export interface ResultExtractor {
  /** Results of more estimated tokens than this are extracted. Default 15,000. */
  readonly threshold?: number | undefined;
  /** Gives what matters of a result, and what that took. */
  extract(output: string, facts: ExtractionFacts): string | ExtractedResult | PromiseLike<string | ExtractedResult>;
}

/** The facts for an extraction. */
export interface ExtractionFacts {
  readonly toolName: string;
  /** The text of the last user message; empty where there is none. */
  readonly userText: string;
}

/** The result of an extraction. */
export interface ExtractedResult {
  readonly text: string;
  /** Counts towards the usage, the cost and the limits of the run. Default none. */
  readonly usage?: Usage | undefined;
  /** Whose tokens these are, for `pricing`. Default the provider of the run. */
  readonly model?: { readonly provider: string; readonly model: string } | undefined;
}

/** Keeps large results elsewhere. */
export interface ResultCacher {
  /** Results that still have more estimated tokens than this are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The tool that its texts point to: a run whose list of tools lacks it is refused. Default none. */
  readonly toolName?: string | undefined;
  /** Keeps a result, and gives the text that stands for it. */
  store(output: string, facts: { readonly toolName: string }): string | PromiseLike<string>;
}

/** Which results a request leaves out. */
export interface MaskingOptions {
  /** How many of the iterations before a request keep their results. `Infinity` masks nothing by age. Default 2. */
  readonly keepIterations?: number | undefined;
  /** Results of fewer estimated tokens stay. Default 500. */
  readonly minTokens?: number | undefined;
  /** 0-based iterations whose results are masked at any age. Read before each iteration; a masked result stays masked. */
  readonly force?: ReadonlySet<number> | undefined;
  /** Masks by age in steps of so many iterations, so that most requests begin as the one before. Default 1. */
  readonly batchOf?: number | undefined;
}

/** Keeps the texts of a result cache. The cache makes the ids. */
export interface ResultStore {
  /** Keeps a text under a new id. */
  write(id: string, text: string): void | PromiseLike<void>;
  /** The text, or undefined where there is none (any more). */
  read(id: string): string | undefined | PromiseLike<string | undefined>;
  /** Drops a text; one that is not there is no failure. */
  remove(id: string): void | PromiseLike<void>;
  /** All that is kept, and its size in bytes of UTF-8. */
  list(): readonly StoredResult[] | PromiseLike<readonly StoredResult[]>;
}

/** One text in a store. */
export interface StoredResult {
  readonly id: string;
  readonly bytes: number;
}

/** Holds context for a restart until the loop takes it: what is too large or too private for a tool's answer. */
export interface ContextStash extends ContextSource {
  /** Keeps plain data, and gives the key that stands for it in `pending_context_key`. */
  put(item: unknown): string;
  /** The item of a key, once: taking it removes it. Undefined where the key is unknown, taken or too old. */
  take(key: string): Json | undefined;
}

/** Asked about each response before its calls run. One that throws, answers something else or takes longer than `hookMs` ends the run. */
export type StopCondition = (context: StopContext) => boolean | StopDecision | PromiseLike<boolean | StopDecision>;

/** The answer of a stop condition; `true` and `false` say the same without a reason. */
export type StopDecision =
  | { readonly kind: "continue" }
  /** `reason` is for whoever reads the result. */
  | { readonly kind: "stop"; readonly reason?: string | undefined };

/** The view that a stop condition gets. */
export interface StopContext {
  /** The number of this iteration, from 1. */
  readonly iteration: number;
  /** The assistant message. If it came in several streams: the last one, with the text, reasoning and calls of all. */
  readonly response: StreamResult;
  /** Of all streams and nested runs so far, this response included. */
  readonly totalUsage: Usage;
  /** USD so far, this response included; undefined where unknown. */
  readonly costUSD: number | undefined;
  /** Calls that earlier iterations have dispatched. */
  readonly toolCallsExecuted: number;
  /** Outcomes of the calls of the last batch, in call order. */
  readonly lastToolResults: readonly ToolOutcome[];
}

/** Judgements that the caller may bring. `Output` is what the schema of a structured answer makes. */
export interface LoopPolicies<Output = unknown> {
  /** Blocks calls by name; does not hide tools. */
  readonly gate?: DeliberateGate | undefined;
  /** Asked about each ready call. */
  readonly approve?: Approve | undefined;
  /**
   * Asked when a run is resumed, about each change of a tool that no longer fits its recorded calls. Only `true` lets the run go on. Default:
   * it is refused as `tools-changed`.
   */
  readonly allowToolChange?: ((change: ToolChange) => boolean) | undefined;
  /** Settings of context restarts: which tools they hide, and the source of context that was set aside. */
  readonly restarts?: RestartPolicy | undefined;
  /** Ends runs whose model has said what there was to say before it called its tools. */
  readonly preToolText?: PreToolTextPolicy | undefined;
  /** Grants one more iteration without tools when the iteration or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
  /** Ends the run as `stop-condition` before the calls of a response run. The first of several that says so does. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Detects a model that repeats its calls; made by `detectLoops`. Default none. */
  readonly loopDetection?: LoopDetection | undefined;
  /** Makes the answer a value: it is parsed, validated, and asked for again if it does not fit. Made by `structuredOutput`. Default none. */
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

/** When repeated calls are a loop, and what the run does about it. */
export interface LoopDetectionOptions {
  /** How often in a row; each multiple counts anew. At least 2. Default 3. */
  readonly threshold?: number | undefined;
  /** Tells listeners, and does nothing else; ends the run as `loop-detected`; or tells the model too. Default "warn". */
  readonly action?: LoopAction | undefined;
  /** The longest sequence of iterations to look for, 1 to 100: 2 finds A B A B. Default 4. */
  readonly maxCycle?: number | undefined;
  /** Whether calls whose results have changed are other calls, such as those of a model that polls. Default false. */
  readonly compareResults?: boolean | undefined;
}

/** Makes the answer a value. Made by `structuredOutput`. `Output` is the type that its schema gives. */
export interface StructuredOutput<Output = unknown> {
  readonly kind: "structured-output";
  /** Validates the answer. */
  readonly schema: StandardSchema<unknown, Output>;
}

/** How the model is asked for an answer that fits a schema. */
export interface StructuredOutputOptions {
  /** Shown to the model instead of the JSON Schema made from the schema. Needed if the schema cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** How often in a row the model is asked again after an answer that does not fit. Default 2. */
  readonly maxRetries?: number | undefined;
}

/** Lets only some tools through. An empty allowlist lets none through; no allowlist, all. */
export interface DeliberateGate {
  readonly active: boolean;
  readonly allowedNames?: Iterable<string> | undefined;
  readonly triggerMatchByToolName?: ReadonlyMap<string, TriggerMatch> | undefined;
  /** Triggers that the gate had no time to look for; for whoever reads the gate, not for the loop. */
  readonly unsearched?: readonly string[] | undefined;
  /** Told of each successful tool while active. */
  retain?(name: string): void;
}

/** Asked once per call, after validation and before anything of the batch runs. After a throw or a timeout the call is `approval-failed`. */
export type Approve = (call: ToolCall, context: ApprovalContext) => ApprovalDecision | PromiseLike<ApprovalDecision>;

/** The view that an approval gets. */
export interface ApprovalContext extends Omit<ApprovalView, "callId" | "name"> {
  /** The tool that is called, with its traits. */
  readonly tool: ToolDefinition;
  /** Whether the tool wants a decision about this call. A trait that is a function has been asked. */
  readonly needsApproval: boolean;
}

/** The answer of an approval. Edited arguments are validated again. */
export type ApprovalDecision =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string | undefined }
  | { readonly kind: "modify"; readonly args: Json }
  /** Nobody can say now: the run ends as `approval-required`, and goes on when it is resumed with `decisions`. */
  | { readonly kind: "ask" };

/** The effects of a context restart besides adding its item. */
export interface RestartPolicy {
  /** Suffix of the restart type to the tools that it hides for the rest of the run. */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
  /** The source of the item of a `pending_context_key`; made by `createContextStash`. Default none. */
  readonly stash?: ContextSource | undefined;
}

/** Something that context can be taken from, once for each key: a `ContextStash`, or a store of the caller's own. */
export interface ContextSource {
  /** The item, or undefined where there is none (any more). One that throws or takes longer than `hookMs` has none. */
  take(key: string): Json | undefined | PromiseLike<Json | undefined>;
}

/**
 * Whether an iteration that said something and then called tools, all of which succeeded, ends the run as `pre-tool-text`: where its provider's
 * family is named, or where each call's tool is named here or says `requiresFollowUp: false`.
 */
export interface PreToolTextPolicy {
  /** Families of providers whose text is the whole answer. Default none. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** Tools after which nothing is left to say. Default none. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
