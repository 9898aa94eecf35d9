// The interface between the loop and everything optional: middleware, durable tools, and the journal below them.

import type { Clock, Json, Session, StandardSchema, Timeouts } from "../types/common.ts";
import type { CallEvent, LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";
import type { Message, UserMessage } from "../types/message.ts";
import type { ModelSettings, Provider, RequestedOutput, StreamResult, ToolChoice } from "../types/provider.ts";
import type { Ending as PlainEnding } from "../types/termination.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import type { Tool } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { State } from "./state.ts";

/** Something that only the outside can answer: an approval, a question, a late result, a timer. */
export interface Wait {
  /** The key of the answer in the option `answers`. In a nested run, a path of call ids such as "call_1/call_2". */
  readonly id: string;
  readonly what: string;
  /** What was shown to whoever answers. If this changes before the answer is used, the wait opens again. */
  readonly facts: Json;
  /** The time from which the run answers the wait itself with null, in milliseconds since 1970. */
  readonly until?: number | undefined;
  /** Why the answer that was given does not fit. */
  readonly problem?: string | undefined;
}

/** An ending of a run. `waiting` is the reason of a run that can only go on with answers from outside. */
export type Ending =
  | PlainEnding
  | { readonly status: "suspended"; readonly reason: { readonly kind: "waiting"; readonly waits: readonly Wait[] } };

/** The result of one model request. Plain data, because a journal records it. `ends` ends the run. */
export type Answer = StreamResult & {
  readonly ends?: Ending | undefined;
  /** True if no request was made, because the run ends. */
  readonly skipped?: true | undefined;
};

/** Returns the answer of a request that was not made, because the run ends. */
export function endWith(ending: Ending, { id: provider, model }: Pick<Provider, "id" | "model">): Answer {
  const nothing = { text: "", reasoning: "", details: "", calls: [], providerMetadata: [], visibleTools: [], durationMs: 0 };
  return { ...nothing, status: "error", costUSD: 0, provider, model, ends: ending, skipped: true };
}

/** The outcome of one call. Plain data, because a journal records it. `ends` ends the run after the calls of the message. */
export type Outcome = ToolOutcome & { readonly ends?: Ending | undefined };

/** A model request as middleware sees it. */
export interface RequestDraft {
  readonly provider: Provider;
  /** The messages that the model gets. The transcript of the run stays whole. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** The names of the tools that may run in this iteration. Default: all tools that are shown. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly system?: string | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  readonly compactAt?: number | undefined;
  readonly output?: RequestedOutput | undefined;
}

/** Calls the rest of the chain. An aborted `signal` cancels only this request or call. */
export type Next<Given, Made> = (given: Given, signal?: AbortSignal) => Promise<Made>;

/**
 * An optional feature of a run. Its code runs again when a run is resumed, so it must be deterministic apart from what it does
 * inside `step`.
 *
 * @example
 * const logged: Middleware = {
 *   name: "logged",
 *   pure: true,
 *   async call(call, next) {
 *     const outcome = await next(call);
 *     console.log(call.name, outcome.kind);
 *     return outcome;
 *   },
 * };
 */
export interface Middleware<Extra extends object = object> extends Hooks<Extra> {
  readonly name: string;
  /** True if it never records a step, so that it may be added and removed while a run is suspended. Default false. */
  readonly pure?: true | undefined;
  /** Returns hooks with state of their own. Called once for each run. */
  begin?(run: RunFacts): Hooks<Extra>;
}

export interface Hooks<Extra extends object = object> {
  /** Tools that it brings. */
  readonly tools?: readonly Tool[] | undefined;
  /** Wraps the provider, inside the recorded step: a wrapper may read clocks and try again. */
  provider?(provider: Provider): Provider;
  /** Called around each model request. The outcomes of the calls before are in `at.state.lastBatch`, in call order. */
  request?(request: RequestDraft, next: Next<RequestDraft, Answer>, at: Recorder): Promise<Answer>;
  /** Called around each call. Calls run in parallel, so keep what they teach you in `request`, from `at.state.lastBatch`. */
  call?(call: ToolCall, next: Next<ToolCall, Outcome>, at: CallRecorder): Promise<Outcome>;
  /** Pure. Called before each request, after each answer and after the calls of each message. */
  ends?(state: State): Ending | undefined;
  /** Goes on instead of ending, or ends in another way. After a limit, `again` grants one more iteration. */
  beforeEnd?(
    ending: Ending,
    at: Recorder,
  ): Promise<void | undefined | { readonly again: readonly UserMessage[] } | { readonly ending: Ending }>;
  on?(event: LoopEvent): void;
  /** Returns fields for the result of the run. */
  result?(state: State): Extra;
}

export interface RunFacts {
  readonly runId: string;
  readonly messages: readonly Message[];
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly session: Session;
  /** The same object for a run and all its nested runs. */
  readonly root: object;
}

export interface WaitOptions {
  /** An answer that does not fit leaves the wait open. */
  readonly schema?: StandardSchema | undefined;
  readonly until?: number | undefined;
}

/** Records effects and waits for answers. The code around it runs again when the run is resumed. */
export interface Recorder {
  /** Runs `body` once, and returns its recorded value from then on. An error of `body` is recorded too. */
  step<T>(name: string, body: () => T | PromiseLike<T>): Promise<T>;
  /** Waits for an answer from outside. Stays pending in an execution that has no answer. */
  wait(what: string, facts: Json, options?: WaitOptions): Promise<Json>;
  /** Runs a nested run in the same journal. Nested runs that are parallel need different names. */
  run(options: NestedOptions, name?: string): Promise<LoopResult>;
  readonly state: State;
  readonly signal: AbortSignal;
  readonly session: Session;
  /** The option `context` of the run. */
  readonly context: unknown;
  /** The same in each execution of the run. */
  readonly idempotencyKey: string;
  /** False inside an ordinary tool, whose step cannot wait. */
  readonly mayWait: boolean;
  /** Sends an event of the run. The recorder adds the place: the run, the iteration, and the call if there is one. */
  emit<Type extends LoopEventType>(type: Type, fields: Omit<LoopEvents[Type], keyof CallEvent>): void;
  heartbeat(): void;
}

export interface CallRecorder extends Recorder {
  readonly callId: string;
  /** The tool as the model was shown it. Undefined if it has been removed since. */
  readonly tool: ToolDefinition | undefined;
  /** Calls another tool of the run, through the same middleware. Rejects if the call has no result. */
  call(tool: string, args: Json): Promise<Json>;
}

export type NestedOptions = { readonly messages: readonly Message[] } & { readonly [option: string]: unknown };

/** Where a run records its steps. */
export interface StepJournal {
  /** True if the records outlive the process. */
  readonly durable?: boolean | undefined;
  /** Runs `body` once, and returns its recorded result from then on. */
  step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T>;
  /** Returns a recorded result, or undefined. Records nothing. */
  read(key: string): unknown;
  open?(): PromiseLike<() => PromiseLike<void>>;
}
