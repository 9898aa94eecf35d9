// Performs one stream of a provider: collects its chunks in a draft, emits their events, and returns the result.

import type { EventSink } from "../../types/loop-event.ts";
import type {
  AttemptSpending,
  ModelRequest,
  Provider,
  StreamResult,
  FinishReason,
  ModelCall,
  ModelChunk,
} from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { Pricing, Json, ProviderError, Usage } from "../../types/common.ts";
import { readProviderError } from "../../errors/provider-error.ts";
import { assertNever } from "../../utils/guards.ts";
import { memoize } from "../../utils/promises.ts";
import { noUsage, addUsage } from "../../utils/count-usage.ts";
import { costOf, priceAttempts } from "../run/pricing.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import { judgeFinish, type Judgement, type MessageContent, problemOf } from "../../providers/judge-finish.ts";
import { type EagerPorts, EagerCalls, type SettledEarly } from "./eager-calls.ts";
import { type GuardPorts, type StreamEnd, StreamGuard, type GuardedStream } from "../../providers/guard-stream.ts";
import type { EndReason } from "../../types/termination.ts";
import type { CacheWatcher, StreamWatch } from "../run/ports.ts";
import { textIn } from "../../utils/texts.ts";
import { toJson } from "../../utils/json.ts";
import { countOf, textOrNone, toUsage } from "../../utils/plain-error.ts";
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
class StreamDraft implements GuardedStream {
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
  /** The notes about the answer. Undefined if there are none. */
  notes: Map<string, Json> | undefined;
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
    this.provider = provider.id;
    this.model = provider.model;
    this.family = provider.family;
  }

  readonly note = (name: string, value: Json): void => {
    this.notes ??= new Map();
    this.notes.set(name, toJson(value));
  };

  /** True after an error chunk. The stream is then over, even if the provider keeps it open. */
  get isOver(): boolean {
    return this.error !== undefined;
  }

  get hasFinished(): boolean {
    return this.finish !== undefined;
  }

  /** The content of the current attempt. */
  get content(): Readonly<AttemptContent> {
    return this.#attempt;
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

/** The parts of a run that one stream needs. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** The call ids in the transcript, which new calls must not reuse. */
  readonly heldIds: ReadonlySet<string>;
  /** The position of each call that events have mentioned so far, by call id. Default: none. */
  readonly places?: Map<string, number> | undefined;
  /**
   * Set if the stream continues a message. `callCount` is the number of earlier calls in the message, and `text` is true if the
   * message already has text.
   */
  readonly carried?: { readonly text: boolean; readonly callCount: number } | undefined;
  readonly pricing?: Pricing | undefined;
  /** Starts calls while the model is still streaming. Default: calls start after the message is complete. */
  readonly eager?: EagerPorts | undefined;
  /** Returns the limit that prevents another request after these attempts. Default: no limit. */
  readonly findSpent?: DraftPorts["findSpent"];
  /** Watches the requests that the provider sends. Default: not watched. */
  readonly cacheWatcher?: DraftPorts["cacheWatcher"];
}

/**
 * Streams one response of the model. Resolves to its result, and never rejects. If a provider throws an error, stalls, or ends
 * its stream without a finish, the `status` is "error" or "timeout". The result then contains the content received so far.
 *
 * @example
 * const result = await streamOnce({ messages, tools: [], iteration: 0 }, { provider, clock, timeouts, scope, events, heldIds });
 */
export function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult> {
  const startedAt = ports.clock.now();
  const draft = new StreamDraft(request, ports);
  return new StreamGuard(draft, ports).run().then((end) => {
    const calls = draft.endCalls();
    const facts = { request, ports, calls, durationMs: ports.clock.now() - startedAt };
    const eager = draft.settleEager(calls);
    return eager === undefined
      ? toResult(draft, end, facts)
      : eager.then((early) => ({ ...toResult(draft, end, facts), ...early }));
  });
}

const nothingCarried = { text: false, callCount: 0 };

interface Iteration {
  readonly request: ModelRequest;
  readonly ports: StreamPorts;
  readonly calls: readonly ToolCall[];
  readonly durationMs: number;
}

function toResult(draft: StreamDraft, end: StreamEnd, { request, ports, calls, durationMs }: Iteration): StreamResult {
  const { carried = nothingCarried } = ports;
  const turn = { text: draft.content.text.trim() !== "" || carried.text, calls: calls.length + carried.callCount > 0 };
  const judged = judgeEnd(end, draft, turn);
  const error = errorOf(judged);
  if (error !== undefined) draft.endAttempt(error);
  const { usage, spendings } = draft;
  const { text, reasoning, order, details, thoughtLog } = draft.content;
  const { costUSD, knownCostUSD, unpriced } = costOfAttempts(spendings, draft.iteration, ports);
  // If a limit prevented another attempt, report this limit instead of the error.
  const { status, reason } =
    error === undefined || draft.spent === undefined ? judged : { status: "error" as const, reason: draft.spent };
  // Lists each field, because objects from a spread use much more memory, and a long run keeps thousands of results.
  return {
    status,
    reason,
    text,
    reasoning,
    order,
    details,
    thoughtLog,
    calls,
    discardedIds: draft.discardedIds,
    finish: draft.finish,
    token: draft.token,
    providerMetadata: draft.providerMetadata,
    usage,
    lastUsage: spendings.length > 1 ? (spendings.at(-1)?.usage ?? noUsage) : undefined,
    costUSD,
    knownCostUSD,
    unpriced,
    provider: draft.provider,
    model: draft.model,
    family: draft.family,
    visibleTools: namesOf(request.tools),
    error,
    adjustments: draft.adjustments,
    cache: draft.watch?.read(spendings, (spent, by) => costOf(spent, { ...by, iteration: draft.iteration }, ports)),
    notes: draft.notes && Object.fromEntries(draft.notes),
    durationMs,
  };
}

function errorOf({ reason }: Judgement): ProviderError | undefined {
  return reason?.kind === "provider-error" ? reason.error : undefined;
}

function judgeEnd(end: StreamEnd, draft: StreamDraft, turn: MessageContent): Judgement {
  switch (end.kind) {
    case "ended":
      return judgeFinish(draft.finish, turn, draft.finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: draft.error ?? readProviderError(end.error) } };
    case "timed-out":
      return { status: "timeout", reason: { kind: end.phase, limitMs: end.limitMs } };
    case "cancelled":
      return endingOfReason(end.cause);
    default:
      return assertNever(end);
  }
}

/** The cost is undefined if the cost of any attempt is unknown. `knownCostUSD` is then the sum of the known costs. */
function costOfAttempts(
  spendings: readonly AttemptSpending[],
  iteration: number,
  ports: StreamPorts,
): Pick<StreamResult, "costUSD" | "knownCostUSD" | "unpriced"> {
  if (ports.pricing === undefined) return {};
  const { costUSD, unpriced } = priceAttempts(spendings, iteration, ports);
  if (unpriced === undefined) return { costUSD };
  return { unpriced, ...(costUSD > 0 && { knownCostUSD: costUSD }) };
}

/** Memoized by the array of tools, so that a long run does not keep thousands of equal arrays of names. */
const namesOf = /* @__PURE__ */ memoize((tools: ModelRequest["tools"]): readonly string[] => tools.map(({ name }) => name));
