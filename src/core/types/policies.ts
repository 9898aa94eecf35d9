import type { Json } from "./json.ts";
import type { LoopAction, TriggerMatch } from "./loop-event.ts";
import type { JsonSchema, StandardSchema } from "./schema.ts";
import type { MaskingPolicy, ResultPipeline } from "./results.ts";
import type { StopCondition } from "./stop-condition.ts";
import type { ToolChange } from "./tool-change.ts";
import type { ApprovalView, ToolDefinition } from "./tool.ts";
import type { ToolCall } from "./tool-outcome.ts";

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
  /** What context restarts hide, and where they find context that was set aside. */
  readonly restarts?: RestartPolicy | undefined;
  /** Ends runs whose model has said what there was to say before it called its tools. */
  readonly preToolText?: PreToolTextPolicy | undefined;
  /** Grants one more iteration without tools when the iteration or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
  /** Ends the run as `stop-condition` before the calls of a response run. The first of several that says so does. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Notices a model that asks for the same calls over and over. Default: nobody looks. */
  readonly loopDetection?: LoopDetection | undefined;
  /** Makes the answer a value: it is parsed, validated, and asked for again where it does not fit. */
  readonly output?: OutputPolicy<Output> | undefined;
  /** What is made of successful results before they enter the transcript. */
  readonly results?: ResultPipeline | undefined;
  /** Leaves old results out of what is sent. */
  readonly masking?: MaskingPolicy | undefined;
}

/** When repeated calls are a loop, and what is done about it. */
export interface LoopDetection {
  /** How often in a row; each multiple counts anew. At least 2. Default 3. */
  readonly threshold?: number | undefined;
  /** Tells listeners, and does nothing else, ends the run as `loop-detected`, or tells the model too. Default "warn". */
  readonly action?: LoopAction | undefined;
  /** The longest sequence of iterations that is looked for, 1 to 100: 2 finds A B A B. Default 4. */
  readonly maxCycle?: number | undefined;
  /** Whether calls whose results have changed are other calls, such as those of a model that polls. Default false. */
  readonly compareResults?: boolean | undefined;
}

/** What the answer must be. */
export interface OutputPolicy<Output = unknown> {
  /** Validates the answer. Its output must be plain data, or become that in JSON. */
  readonly schema: StandardSchema<unknown, Output>;
  /** Shown to the model in place of what is made from `schema`; needed where that cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** How often in a row the model is asked again where its answer does not fit. Default 2. */
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

/** What an approval may look at. */
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

/** What a context restart does besides adding its item. */
export interface RestartPolicy {
  /** Suffix of the restart type to the tools that it hides for the rest of the run. */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
  /** Where the item of a `pending_context_key` is; made by `createContextStash`. Default none. */
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
  /** Families of providers whose text is the whole answer. Default ["novelai"]. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** Tools after which nothing is left to say. Default ["update_short_term_memory"], unless that tool comes from an MCP server. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
