import type { EventSink } from "../../types/loop-event.ts";
import type { Json, ProviderError, Usage } from "../../types/common.ts";
import type {
  AttemptSpending,
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  Provider,
  StreamResult,
} from "../../types/provider.ts";
import type { EndReason } from "../../types/termination.ts";
import type { CacheWatcher, StreamWatch } from "../run/features.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/guards.ts";
import { textIn } from "../../utils/texts.ts";
import { toJson } from "../../utils/json.ts";
import type { GuardedStream } from "../../providers/guard-stream.ts";
import { readProviderError } from "../../errors/provider-error.ts";
import { countOf, textOf, textOrNone, toUsage } from "../../utils/plain-error.ts";
import {
  type CallChunk,
  type CallDraft,
  CallDrafts,
  createCallIds,
  type IdOf,
  addAdjustment,
  type AttemptContent,
  beginPart,
  emptyAttempt,
  mergeDetails,
  wasRefused,
} from "./call-drafts.ts";
import { EagerCalls, type EagerPorts, type SettledEarly } from "./eager-calls.ts";
import { addUsage, noUsage } from "../../utils/count-usage.ts";
import { problemOf } from "../../providers/judge-finish.ts";

export interface DraftPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  readonly carried?: { readonly callCount: number } | undefined;
  readonly heldIds: ReadonlySet<string>;
  /**
   * The position of each call that events have mentioned so far, by call id. New calls must not reuse these ids. Default: none.
   */
  readonly places?: Map<string, number> | undefined;
  readonly eager?: EagerPorts | undefined;
  readonly findSpent?: ((spent: readonly AttemptSpending[]) => EndReason | undefined) | undefined;
  readonly cacheWatcher?: CacheWatcher | undefined;
}

const nothing: readonly never[] = [];

/** Collects the chunks of one stream, and emits its events. */
export class StreamDraft implements GuardedStream {
  readonly open: GuardedStream["open"];
  readonly #firstIndex: number;
  readonly #events: EventSink;
  readonly iteration: number;
  /**
   * The id of the provider of the current attempt. A provider such as `withFallback` may change the provider and the model with
   * each attempt.
   */
  provider: string;
  model: string;
  family: string | undefined;
  #attempt: AttemptContent = emptyAttempt();
  #attemptNumber: number | undefined;
  #isFinal = false;
  #usage: Usage | undefined;
  /**
   * The usage of earlier attempts. `#usage` is only for the current attempt, because a new usage report may replace it. Undefined
   * until the first attempt ends.
   */
  #ended: AttemptSpending[] | undefined;
  #isBetween = false;
  /** The ids of the calls of discarded attempts. Undefined if there are none. */
  discardedIds: readonly string[] | undefined;
  finish: FinishReason | undefined;
  finishRaw: string | undefined;
  token: string | undefined;
  error: ProviderError | undefined;
  /** The adjustments of all attempts, because each attempt has its own request. */
  adjustments: StreamResult["adjustments"];
  readonly #eager: EagerCalls | undefined;
  readonly #idOf: IdOf;
  readonly mayAsk: ModelCall["mayAsk"];
  readonly watch: StreamWatch | undefined;
  readonly sending: ModelCall["sending"];
  spent: EndReason | undefined;

  constructor(request: ModelRequest, ports: DraftPorts) {
    const { provider, events, carried, heldIds, places = new Map(), eager, findSpent, cacheWatcher } = ports;
    this.watch = cacheWatcher?.watch(request);
    this.sending = this.watch?.sending;
    this.mayAsk = (spent) => {
      this.spent = findSpent?.(spent);
      return this.spent === undefined;
    };
    this.#firstIndex = carried?.callCount ?? 0;
    this.#eager = eager === undefined ? undefined : new EagerCalls(eager);
    this.iteration = request.iteration;
    this.#idOf = createCallIds({ iteration: this.iteration, heldIds, places });
    this.open = provider.stream.bind(provider, request);
    this.#events = events;
    // Converted to text, because the result contains these values and must be serializable.
    this.provider = textOf(provider.id);
    this.model = textOf(provider.model);
    this.family = textOrNone(provider.family);
  }

  /** True after an error chunk. The stream is then over, even if the provider keeps it open. */
  get isOver(): boolean {
    return this.error !== undefined;
  }

  get hasFinished(): boolean {
    return this.finish !== undefined;
  }

  get text(): string {
    return this.#attempt.text;
  }

  get reasoning(): string {
    return this.#attempt.reasoning;
  }

  get order(): AttemptContent["order"] {
    return this.#attempt.order;
  }

  get details(): string {
    return this.#attempt.details;
  }

  get thoughtLog(): Json | undefined {
    return this.#attempt.thoughtLog;
  }

  get providerMetadata(): readonly Json[] {
    return this.#attempt.providerMetadata ?? nothing;
  }

  get usage(): Usage | undefined {
    if (this.#ended === undefined) return this.#usage;
    let sum: Usage | undefined;
    for (const { usage } of this.spendings) if (usage !== undefined) sum = sum === undefined ? usage : addUsage(sum, usage);
    return sum;
  }

  /** The usage of each attempt, including the current one. Omits attempts that the service rejected. */
  get spendings(): readonly AttemptSpending[] {
    const ended = this.#ended ?? nothing;
    if (this.#isBetween && this.#usage === undefined) return ended;
    const { provider, model } = this;
    return [...ended, { provider, model, usage: this.#usage }];
  }

  /** Throws for an invalid chunk. The iteration then ends with a provider error. */
  take(chunk: ModelChunk): void {
    const { type } = chunk;
    // This check is first, because nearly every chunk is text.
    if (type === "text-delta" || type === "refusal-delta") {
      const text = textIn(chunk, "text");
      if (this.#attempt.last !== "text" && text !== "") beginPart(this.#attempt, "text");
      this.#attempt.text += text;
      this.#sendDelta("text-delta", text);
    } else if (type === "reasoning-delta") {
      const text = textIn(chunk, "text");
      if (this.#attempt.last !== "reasoning" && text !== "") beginPart(this.#attempt, "reasoning");
      this.#attempt.reasoning += text;
      this.#sendDelta("reasoning-delta", text);
    } else if (type === "call-start" || type === "call-args-delta" || type === "call-ready") {
      this.#takeCall(chunk);
    } else if (type === "request-adjusted") {
      this.adjustments = addAdjustment(this, chunk.changes);
    } else {
      this.#takeBookkeeping(chunk);
    }
  }

  /** Called after the stream has ended. Emits `tool-args-end` for the calls that were cut off. */
  endCalls(): readonly ToolCall[] {
    const { calls } = this.#attempt;
    if (calls === undefined) return nothing;
    for (const draft of calls.open) this.#sendArgsEnd(calls, draft);
    return calls.toCalls(problemOf(this.finish));
  }

  settleEager(calls: readonly ToolCall[]): Promise<SettledEarly> | undefined {
    return this.#eager === undefined || this.#eager.isEmpty ? undefined : this.#eager.settle(calls);
  }

  #takeBookkeeping(chunk: Exclude<ModelChunk, { type: `${string}-delta` | `call-${string}` | "request-adjusted" }>): void {
    switch (chunk.type) {
      case "usage":
        this.#usage = chunk.mode === "delta" ? addUsage(this.#usage ?? noUsage, toUsage(chunk.usage)) : toUsage(chunk.usage);
        return;
      case "provider-metadata":
        this.#attempt.providerMetadata ??= [];
        this.#attempt.providerMetadata.push(toJson(chunk.item));
        return;
      case "details":
        this.#attempt.details = mergeDetails(this.#attempt.details, textIn(chunk, "text"));
        return;
      case "thought-log":
        this.#attempt.thoughtLog = toJson(chunk.payload);
        return;
      case "attempt-start":
        return this.#startAttempt(chunk);
      case "attempt-discarded":
        return this.#discard(chunk);
      case "finish":
        textIn(chunk, "reason");
        this.finish = chunk.reason;
        this.finishRaw = textOrNone(chunk.raw);
        this.token = textOrNone(chunk.token);
        return;
      case "error":
        this.error = readProviderError(chunk.error);
        return;
      default:
        return assertNever(chunk);
    }
  }

  #takeCall(chunk: CallChunk): void {
    this.#attempt.calls ??= new CallDrafts(this.#firstIndex, this.#idOf);
    const attempt = this.#attempt;
    const { calls } = this.#attempt;
    const { count } = calls;
    const draft = calls.take(chunk);
    if (draft === undefined) return;
    if (attempt.last !== "call" && calls.count > count) beginPart(attempt, "call", count);
    if (draft.untold !== "") this.#sendArgsDelta(calls, draft);
    if (!draft.ready) return;
    this.#sendArgsEnd(calls, draft);
    if (this.#eager !== undefined) for (const ready of calls.takeReady()) this.#eager.offer(calls.toCall(ready));
  }

  #startAttempt(chunk: Extract<ModelChunk, { type: "attempt-start" }>): void {
    const provider = textIn(chunk, "provider");
    const model = textIn(chunk, "model");
    const isAnother = provider !== this.provider || model !== this.model;
    // `#usage` still belongs to the previous attempt. `#countAttempt` stores this usage with the provider and model of the
    // previous attempt, which determine the price.
    if (isAnother && this.#usage !== undefined) this.#countAttempt();
    this.#isBetween = false;
    this.#attemptNumber = countOf(chunk.attempt);
    this.#isFinal = chunk.isFinal === true;
    this.provider = provider;
    this.model = model;
    this.family = textOrNone(chunk.family);
  }

  #countAttempt(): void {
    this.#ended ??= [];
    this.#ended.push({ provider: this.provider, model: this.model, usage: this.#usage });
    this.#usage = undefined;
  }

  /** Counts a failed attempt, unless the service rejected it. */
  endAttempt(failure: ProviderError): void {
    if (this.#usage !== undefined || (!this.#isBetween && !wasRefused(this.#attempt, failure))) this.#countAttempt();
    this.#isBetween = true;
  }

  #discard({ attempt, error }: Extract<ModelChunk, { type: "attempt-discarded" }>): void {
    const failure = readProviderError(error);
    this.endAttempt(failure);
    const { ids = nothing } = this.#attempt.calls ?? {};
    if (ids.length > 0) this.discardedIds = [...(this.discardedIds ?? nothing), ...ids];
    this.#attempt = emptyAttempt();
    this.#eager?.release();
    this.finish = undefined;
    this.finishRaw = undefined;
    this.token = undefined;
    this.error = undefined;
    const events = this.#events;
    const base = { runId: events.runId, iteration: this.iteration };
    events.send({ type: "attempt-discarded", ...base, attempt: countOf(attempt) ?? 0, error: failure });
  }

  #sendDelta(type: "text-delta" | "reasoning-delta", text: string): void {
    const events = this.#events;
    if (text === "" || !events.wants(type)) return;
    const attempt = this.#attemptNumber;
    const { iteration } = this;
    const { runId } = events;
    if (attempt === undefined) events.send({ type, runId, iteration, text });
    else if (this.#isFinal) events.send({ type, runId, iteration, text, attempt, isFinal: true });
    else events.send({ type, runId, iteration, text, attempt });
  }

  /** Gives the call its id even without listeners. Otherwise the ids would depend on the listeners. */
  #sendArgsDelta(calls: CallDrafts, draft: CallDraft): void {
    const events = this.#events;
    const callId = calls.idOf(draft);
    const { name, index, untold: text } = draft;
    draft.untold = "";
    if (!events.wants("tool-args-delta")) return;
    events.send({ type: "tool-args-delta", runId: events.runId, iteration: this.iteration, callId, name, index, text });
  }

  #sendArgsEnd(calls: CallDrafts, draft: CallDraft): void {
    const events = this.#events;
    const callId = calls.idOf(draft);
    if (!events.wants("tool-args-end")) return;
    const { name, args, problem } = calls.toCall(draft);
    const { index } = draft;
    events.send({ type: "tool-args-end", runId: events.runId, iteration: this.iteration, callId, name, index, args, problem });
  }
}
