// Declares the interface between the loop and its optional parts: middleware, durable tools and journals.

import type { Clock, Json, JsonSchema, Session, StandardSchema, Timeouts, Usage } from "./common.ts";
import type { CallEvent, LoopEvent, LoopEvents, LoopEventType } from "./loop-event.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "./message.ts";
import type { ModelSettings, Provider, RequestedOutput, StreamResult, ToolChoice } from "./provider.ts";
import type { EndReason, LoopStatus } from "./termination.ts";
import type { ToolDefinition } from "./tool.ts";
import type { NestedSpending, ShownTool, ToolChange, ToolCall, ToolHistoryEntry, ToolOutcome } from "./tool-outcome.ts";
import type { LoopLimits, RunOptions, Tool, ToolContext, ToolRegistry } from "./loop-options.ts";
import type { FinalAnswerReserve } from "./middleware-options.ts";
import type { Journal } from "./journal.ts";
import type { WaitOptions } from "./wait.ts";

/** Something that can only be answered from outside the run: an approval, a question, a late result, or a timer. */
export interface Wait {
  /**
   * The key of the answer in the `answers` option. In a nested run, a path of call ids such as "call_1/call_2". Ends with a number,
   * such as "call_1~2", if the wait was opened again.
   */
  readonly id: string;
  readonly what: string;
  /** The facts that were shown with the question. If they change before the answer is used, the wait is opened again. */
  readonly facts: Json;
  /** The time, in milliseconds since 1970, after which the run itself answers the wait with null. */
  readonly until?: number | undefined;
  /** The waiting call, if the facts do not describe it. */
  readonly call?: WaitingSubject | undefined;
  /** The schema of the answer, if it can be converted. */
  readonly schema?: JsonSchema | undefined;
  /** True if a web page may send the answer. Unused for approvals and results, because their calls say whether a page may answer. */
  readonly fromPage?: true | undefined;
  /** How the tool has changed since the wait was first opened. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

/** The call that a wait is about. An answer is valid only for these arguments and this tool. */
export interface WaitingSubject {
  readonly name: string;
  /** The arguments that the waiting hook received. */
  readonly args: Json;
  /** The tool. Undefined if the tool's own code is waiting. */
  readonly tool?: ShownTool | undefined;
}

/**
 * How a run ended: its status, and the exact reason. The reason `waiting` means that the run can only continue with answers from outside.
 */
export type Ending =
  | { readonly status: LoopStatus; readonly reason: EndReason }
  | { readonly status: "suspended"; readonly reason: { readonly kind: "waiting"; readonly waits: readonly Wait[] } };

/** The result of one model request. JSON data, because a journal records it. If `ends` is set, the run ends in this way. */
export type Answer = StreamResult & {
  readonly ends?: Ending | undefined;
  /** The called tools that have changed since the first record of the run. */
  readonly shownTools?: { readonly [name: string]: ShownTool } | undefined;
  /** The messages that middleware added to the transcript before the request. */
  readonly added?: readonly Message[] | undefined;
  /** True if no request was made, because the run ends. */
  readonly skipped?: true | undefined;
};

/**
 * The outcome of one call. JSON data, because a journal records it. If `ends` is set, the run ends in this way after the message's calls.
 */
export type Outcome = ToolOutcome & {
  readonly ends?: Ending | undefined;
  /** The text that the model reads instead of the result. */
  readonly textForModel?: string | undefined;
};

/** A model request as seen by middleware. */
export interface RequestDraft {
  readonly provider: Provider;
  /** The messages that the model receives. The run's transcript remains complete. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** The names of the tools that may run in this iteration. Default: all tools in the request. */
  readonly allowedTools?: readonly string[] | undefined;
  /** Tools that a tool search may find. The model may call them although the request does not show them. */
  readonly findableTools?: readonly ToolDefinition[] | undefined;
  /** The items that `messages` contains in addition to the transcript. Tools read them in their context. */
  readonly contextItems?: readonly Json[] | undefined;
  readonly system?: string | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** The choice that still limits which tools may run after a forced `toolChoice` was reset to "auto". */
  readonly enforced?: ToolChoice | undefined;
  /** True if a forced choice stays forced after the first call. Default: the following requests use "auto". */
  readonly keepsChoice?: true | undefined;
  readonly settings?: ModelSettings | undefined;
  readonly compactAt?: number | undefined;
  /** The name of the agent that makes the request, for events. */
  readonly agent?: string | undefined;
  readonly output?: RequestedOutput | undefined;
}

/** A call as passed to `next` by middleware. */
export interface NextCall extends ToolCall {
  /** Runs the call instead of the tool. Default: the tool runs. */
  readonly together?: JoinedRun | undefined;
}

/**
 * Runs a call in place of its tool, together with other calls in the message. The call keeps its limits, events and records, but does not
 * count toward `toolConcurrency`, and does not wait for calls to sequential tools.
 */
export interface JoinedRun {
  /**
   * Called when the call has passed all middleware and is only waiting for its turn. All calls that may run join before the first tool in
   * the message begins. After this, `next` always settles, unless `run` defers the result.
   */
  join(): void;
  /**
   * Called with the validated arguments. May return anything that a tool may return. Called once for each attempt if the tool has `retry`.
   */
  run(args: unknown, context: ToolContext): unknown;
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
export interface Middleware extends Hooks {
  readonly name: string;
  /** The part of the limits that is reserved for an iteration that `beforeEnd` grants. Default: none. */
  readonly reserve?: FinalAnswerReserve | undefined;
  /** True if the middleware never records a step, so it may be added and removed while a run is suspended. Default false. */
  readonly pure?: true | undefined;
  /**
   * True if the middleware decides about each call to a tool with `needsApproval`, so the run does not also wait for a person's
   * decision. Such a tool runs if this middleware calls `next`. Default false.
   */
  readonly approves?: boolean | undefined;
  /** The names of the middleware that must come before this one, if they are in the list. Default: none. */
  readonly after?: readonly string[] | undefined;
  /** Returns hooks with their own state. Called once for each run. */
  begin?(run: RunFacts): Hooks;
}

/**
 * A run's list of middleware. The first one is the outermost. Entries that are `false` or `undefined` are ignored. `Output` is
 * the output type of the schema in `structuredOutput`. The empty tuple lets TypeScript infer each entry with its own type.
 */
export type MiddlewareList<Output = unknown> =
  | readonly []
  | readonly (Middleware | StructuredOutput<Output> | false | undefined)[];

/** The fields that a list's middleware adds to a run's result. Fields of an entry that may be `false` or `undefined` are optional. */
export type ResultFields<List> = Intersection<
  List extends readonly unknown[] ? { [Index in keyof List]: { readonly fields: FieldsOf<List[Index]> } }[number] : never
>;

type FieldsOf<Entry> =
  Exclude<Entry, false | undefined> extends { result(state: never): infer Fields }
    ? Extract<Entry, false | undefined> extends never
      ? Fields
      : Partial<Fields>
    : unknown;

type Intersection<Each> = (Each extends { readonly fields: infer Fields } ? (take: Fields) => void : never) extends (
  take: infer All,
) => void
  ? All
  : unknown;

/** Converts the answer to a validated value. Created by `structuredOutput`. `Output` is the output type of the schema. */
export interface StructuredOutput<Output = unknown> extends Middleware {
  /** The schema that validates the answer. */
  readonly schema: StandardSchema<unknown, Output>;
}

export interface Hooks {
  /** The tools that the middleware adds to the run. */
  readonly tools?: readonly Tool[] | undefined;
  /** Wraps the provider. The wrapper runs inside the recorded step, so it may read clocks and retry. */
  provider?(provider: Provider): Provider;
  /** Called around each model request. The outcomes of the previous calls are in `at.state.lastBatch`, in call order. */
  request?(request: RequestDraft, next: Next<RequestDraft, Answer>, at: Recorder): Promise<Answer>;
  /**
   * Watches the message that a request streams. Called inside the request's recorded step, or, in a replay, with its record. The watch's
   * functions must therefore not record steps. An error ends the run.
   */
  stream?(request: RequestDraft, at: StreamPlace): MessageWatch | undefined;
  /**
   * Called around each call. Calls run in parallel, so do not collect state here: read the outcomes in `request`, from
   * `at.state.lastBatch`.
   */
  call?(call: ToolCall, next: Next<NextCall, Outcome>, at: CallRecorder): Promise<Outcome>;
  /**
   * Called around the tool, inside the `call` hooks of all middleware, with the arguments that these hooks have set. The schema adds its
   * defaults inside `next`: use `validatedArgs` from `turnwright/kit` to read the arguments that the tool receives. Calls that may not run, for example beyond
   * `maxToolCalls`, do not reach these hooks. `next` may still refuse arguments that a hook has chosen.
   */
  execute?(call: ToolCall, next: Next<NextCall, Outcome>, at: CallRecorder): Promise<Outcome>;
  /**
   * Decides from the state alone whether the run ends. Must have no side effects. Called before each request, after each answer and after
   * each message's calls.
   */
  ends?(state: State): Ending | undefined;
  /**
   * Called after the calls in each message, before the run checks for messages and cancellations, with the ending that the calls
   * caused. Returns an ending to end the run. Not called if the calls have reached `maxConsecutiveToolErrors`.
   */
  afterCalls?(planned: Ending | undefined, at: Recorder): Promise<Ending | undefined>;
  /**
   * Called before the run ends. May let it continue, or change how it ends. After a limit, `again` grants one more iteration. With
   * `isCounted`, the limits apply to this iteration as to any other, and the run ends if `maxIterations` is reached.
   */
  beforeEnd?(
    ending: Ending,
    at: Recorder,
  ): Promise<
    | void
    | undefined
    | { readonly again: readonly UserMessage[]; readonly isCounted?: true | undefined }
    | { readonly ending: Ending }
  >;
  /**
   * Wraps the run's tools, as `provider` wraps the model. `executeTool` is called inside the recorded step of a call, once for each
   * attempt. For a durable tool, it is called in each execution.
   */
  registry?(registry: ToolRegistry): ToolRegistry;
  /**
   * Called with each event in the run. Events from its nested runs have a `path`. An error does not affect the run. It is reported
   * once, in a `listener-error` event.
   */
  on?(event: LoopEvent): void;
  /**
   * Returns hooks for a nested run that a call in this run starts. These hooks run inside the nested run's own middleware, and must not
   * record steps. Default: none.
   */
  nest?(run: RunFacts, call: NestingCall): Hooks | undefined;
  /** Returns fields for the run's result. The type of the result includes them if the type of the middleware has this method. */
  result?(state: State): object;
  /** Called last, however the run ended, unless it was rejected before `run-start`. */
  close?(run: ClosedRun): void;
}

/** The call that starts a nested run. */
export interface NestingCall {
  readonly callId: string;
  /** The name of the called tool. Undefined if middleware starts the run for a request. */
  readonly name?: string | undefined;
}

/** Facts about a finished run, for `close`. */
export interface ClosedRun {
  /** The error that a run was rejected with. Such a run has sent no `run-end`. */
  readonly failure?: { readonly error: unknown } | undefined;
  /** True if the run has done something that was not in its journal before. */
  readonly isNew: boolean;
}

/** Watches one message as it streams. */
export interface MessageWatch {
  /** Called with each call as soon as this call and all calls before it are complete. */
  call?(call: ToolCall): void;
  /** Called when the provider discards the attempt that made the calls so far. */
  discarded?(): void;
  /** Called with the message's calls after the stream has ended. The returned fields become part of the answer and its record. */
  ended?(calls: readonly ToolCall[]): Promise<Partial<Answer>>;
  /** Called instead of the other functions in a replay, with the recorded answer. */
  recorded?(answer: Answer): Promise<void>;
}

/** The place of a streaming message, in which `beginCall` and `useCall` begin calls. */
export interface StreamPlace {
  /** True if the message is replayed. */
  readonly isRecorded: boolean;
}

/** A call that began while its message was streaming. */
export interface BegunCall {
  /** The call that ran. */
  readonly call: ToolCall;
  /**
   * The outcome of the call. Undefined if the call can only continue after its message is complete. The steps in its journal are then
   * reused.
   */
  readonly outcome: Outcome | undefined;
  readonly journal: Journal;
  /** The usage and cost of middleware around the call. */
  readonly spent: readonly NestedSpending[];
}

export interface RunFacts {
  readonly runId: string;
  readonly messages: readonly Message[];
  /** Returns the run's current tools. The array is the same object until they change. Call this method after `begin` has returned. */
  definitions(): readonly ToolDefinition[];
  /** The options as the caller passed them. */
  readonly options: RunOptions;
  readonly clock: Clock;
  readonly limits: { readonly [Name in Exclude<keyof LoopLimits, "onUnknownCost">]-?: number };
  readonly timeouts: Timeouts;
  readonly session: Session;
  /** The same object for a run and all its nested runs. */
  readonly root: object;
}

/** Records effects and waits for answers. The code that uses it runs again when the run is resumed. */
export interface Recorder {
  /**
   * Runs `body` once. Later executions return the recorded value. An error from `body` is recorded too. With `recordErrors: false`,
   * the run rejects with the error instead, and runs `body` again when it is resumed.
   */
  step<T>(name: string, body: () => T | PromiseLike<T>, options?: { readonly recordErrors?: boolean | undefined }): Promise<T>;
  /**
   * Waits for an answer from outside. Stays pending in an execution without an answer. `what` names the kind of wait, such as
   * "permission"; the names "approval", "result" and "question" are reserved. `facts` are what the answer is about: if they change, or the
   * call or its tool changes, the wait is opened again. With `schema`, returns the output of the schema. With `until`, may return null.
   */
  wait<Answer = Json>(what: string, facts: Json, options?: WaitOptions<Answer> & { readonly until?: undefined }): Promise<Answer>;
  wait<Answer = Json>(what: string, facts: Json, options: WaitOptions<Answer>): Promise<Answer | null>;
  readonly state: State;
  readonly signal: AbortSignal;
  readonly session: Session;
  /** The run's `context` option. */
  readonly context: unknown;
  /** A key that is the same in each execution of the run. */
  readonly idempotencyKey: string;
  /** True until this execution does something new. Meant for reports only: a decision must not depend on it. */
  readonly isReplayed: boolean;
  /** False inside an ordinary tool, whose step cannot wait. */
  readonly mayWait: boolean;
  /** Sends an event for the run. The recorder adds the place: the run, the iteration, and the call if there is one. */
  emit<Type extends LoopEventType>(type: Type, fields: Omit<LoopEvents[Type], keyof CallEvent>): void;
  heartbeat(): void;
}

/** The records of a call from earlier executions. */
export interface EarlierCall {
  /** True if the tool has changed since an earlier execution requested a decision about this call, and the call has not run. */
  readonly isChanged: boolean;
  /** True if an earlier execution has run the call or ended it. In that case, do not request a decision about it. */
  readonly isOver: boolean;
  /** True if an earlier execution waited for approval of this call. */
  readonly wasAsked: boolean;
  /**
   * Resolves to true if the middleware's step is recorded. Undefined if no step of the call can be recorded. Do not use it to detect a
   * replay, because steps from this execution are recorded too.
   */
  isRecorded(step: string): Promise<boolean> | undefined;
}

export interface CallRecorder extends Recorder {
  readonly callId: string;
  /** The current tool. In a resumed run, it may have changed since it was shown to the model. Undefined if the tool was removed. */
  readonly tool: ToolDefinition | undefined;
  /** Tells what earlier executions have recorded about this call. Undefined if the run has no journal. */
  readonly earlier: EarlierCall | undefined;
  /**
   * Resolves when the call's message is complete. A call to an `eager` tool waits here, and continues with the other calls. Await it before
   * deciding about the call, because the message may be discarded.
   */
  afterMessage(): Promise<void>;
  /**
   * Sends `tool-end` now instead of after the outer middleware has finished. The event is sent only once. Call it before slow work on a
   * result, and before events about the result. The outcome's kind must not change afterwards.
   */
  end(outcome: Outcome): void;
  /**
   * Calls another of the run's tools, through the same middleware. Rejects if the call has no result. A call that ends the run does so even
   * if its error is caught.
   */
  call(tool: string, args: Json): Promise<Json>;
}

export type NestedOptions = { readonly messages: readonly Message[] } & { readonly [option: string]: unknown };

export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/** The record of a decision to continue or to end, with everything from outside that it was based on. */
export interface Look {
  /** The time on the run's clock, in milliseconds. */
  readonly now: number;
  /** The id of the execution. Times from different executions cannot be compared. */
  readonly token: string;
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly ending?: Ending | undefined;
  /** The run's `version` option, if it has changed since it was last recorded. */
  readonly codeVersion?: string | undefined;
  /** True if the newest request is repeated because the run was resumed to retry it. */
  readonly retries?: true | undefined;
  /** True if the limits leave no room for another request, even one that `beforeEnd` grants. */
  readonly isExhausted?: true | undefined;
}

/** One call in a message, with its outcome. */
export interface EndedCall {
  readonly call: ToolCall;
  readonly outcome: Outcome;
  readonly waits: readonly Wait[];
  /** True if the call continues when the run is resumed. */
  readonly isOpen?: true | undefined;
  /** True if a nested run in the call was suspended by a drain. */
  readonly isDrained?: boolean | undefined;
  /** The messages that nested runs in the call have not sent to a model. */
  readonly undelivered?: readonly UserMessage[] | undefined;
}

/** The assistant message in the current iteration, with its continuations so far. */
export interface CurrentMessage {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  /** The outcomes of the calls that ran while the message streamed. */
  readonly early: readonly ToolOutcome[];
  readonly providerMetadata: readonly ProviderMetadataPart[];
}

export interface State {
  phase: "start" | "look" | "answer" | "calls" | "again";
  /** True if this iteration has made no request yet. */
  isFresh: boolean;
  /** The index of the iteration, counted from 0. */
  iteration: number;
  /** The index of the stream in this iteration. Greater than 0 while a paused message is continued. */
  continuation: number;
  pauses: number;
  /** The number of iterations that count toward `maxIterations`. */
  countedIterations: number;
  readonly messages: Message[];
  readonly givenMessages: number;
  /** The ids of all calls in the transcript. */
  readonly heldIds: Set<string>;
  readonly answers: Answer[];
  current: CurrentMessage;
  isCurrentPlaced: boolean;
  lastBatch: readonly EndedCall[];
  waits: readonly Wait[];
  readonly unsent: InboxMessage[];
  /** The user messages that this iteration has put at the end of the transcript. */
  steered: readonly UserMessage[];
  readonly functionHistory: ToolHistoryEntry[];
  finalText: string;
  /** True if a tool has returned content that users can see. */
  contentDelivered: boolean;
  usage: Usage;
  costUSD: number | undefined;
  spentUSD: number;
  lastCostUSD: number;
  unpriced: (NonNullable<Answer["unpriced"]> & { readonly iteration: number }) | undefined;
  toolCallsExecuted: number;
  consecutiveToolErrors: number;
  /** The run's ending, if it prevented the newest request. */
  skipped: Ending | undefined;
  look: Look | undefined;
  /** The key of the newest look, and the number of looks under that key. */
  lookAttempt: { readonly base: string; readonly count: number };
  /** The newest recorded value of the `version` option. */
  codeVersion: string | undefined;
  /** The active time up to the newest record, in milliseconds. */
  activeMs: number;
  activeMsAtLook: number;
  /** How many times `beforeEnd` has let the run continue. */
  agains: number;
  /** True during an iteration that `beforeEnd` granted and that may exceed the limits. */
  isGranted: boolean;
  /** How many times the newest request was retried. */
  retry: number;
  before: BeforeMessage;
}

/** The values that a retry restores when it removes the newest message. Numbers are array lengths. */
interface BeforeMessage {
  readonly messages: number;
  readonly functionHistory: number;
  readonly finalText: string;
}
