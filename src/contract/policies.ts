import type { Json } from "./json.ts";
import type { TriggerMatch } from "./loop-event.ts";
import type { Message } from "./message.ts";
import type { MaskingPolicy, ResultPipeline } from "./results.ts";
import type { Session } from "./session.ts";
import type { ToolCall } from "./tool-outcome.ts";

/** Judgements that the caller may bring. */
export interface LoopPolicies {
  /** Blocks calls by name; does not hide tools. */
  readonly gate?: DeliberateGate | undefined;
  /** Asked about each ready call. */
  readonly approve?: Approve | undefined;
  /** What context restarts hide, and where they find context that was set aside. */
  readonly restarts?: RestartPolicy | undefined;
  /** Ends runs whose model has said what there was to say before it called its tools. */
  readonly preToolText?: PreToolTextPolicy | undefined;
  /** Grants one more pass without tools when the iteration or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
  /** What is made of successful results before they enter the transcript. */
  readonly results?: ResultPipeline | undefined;
  /** Leaves old results out of what is sent. */
  readonly masking?: MaskingPolicy | undefined;
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

/** Asked once per call, after validation and before anything of the batch runs. A throw or a timeout denies. */
export type Approve = (call: ToolCall, context: ApprovalContext) => ApprovalDecision | PromiseLike<ApprovalDecision>;

/** What an approval may look at. */
export interface ApprovalContext {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: unknown;
  readonly signal: AbortSignal;
}

/** The answer of an approval. Edited arguments are validated again. */
export type ApprovalDecision =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string | undefined }
  | { readonly kind: "modify"; readonly args: Json };

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
 * Whether a pass that said something and then called tools, all of which succeeded, ends the run as `pre-tool-text`: where its provider's
 * family is named, or where each call's tool is named here or says `requiresFollowUp: false`.
 */
export interface PreToolTextPolicy {
  /** Families of providers whose text is the whole answer. Default ["novelai"]. */
  readonly endAfterTextFamilies?: readonly string[] | undefined;
  /** Tools after which nothing is left to say. Default ["update_short_term_memory"]. */
  readonly suppressFollowUpAfterText?: readonly string[] | undefined;
}
