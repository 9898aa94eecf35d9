// Streams one answer from the provider: collects its chunks in a draft, emits events, and returns the result.

import type { EventSink } from "../types/loop-event.ts";
import type { AttemptSpending, ModelRequest, Provider, StreamResult, ModelCall, ModelChunk } from "../types/provider.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { Pricing, Json, ProviderError, Usage } from "../types/common.ts";
import { readProviderError } from "../../shared/errors/provider-error.ts";
import { assertNever } from "../../shared/guards.ts";
import { memoize } from "../../shared/promises.ts";
import { noUsage, addUsage } from "../../shared/count-usage.ts";
import { priceAttempts } from "../../shared/cost-of.ts";
import { endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { judgeFinish, type Judgement, type MessageContent, problemOf } from "../../shared/judge-finish.ts";
import type { Answer, MessageWatch } from "../types/middleware.ts";
import { type GuardPorts, type StreamEnd, StreamGuard, type GuardedStream } from "../providers/guard-stream.ts";
import type { EndReason } from "../types/termination.ts";
import { textIn } from "../../shared/texts.ts";
import { toJson } from "../../shared/json.ts";
import { countOf, textOrNone, toUsage } from "../../shared/plain-error.ts";
import {
  type CallChunk,
  type CallDraft,
  CallDrafts,
  addAdjustment,
  AttemptContent,
  beginPart,
  mergeDetails,
  wasRefused,
} from "./call-drafts.ts";

/** The parts of a run that one stream needs. */
export interface StreamPorts extends GuardPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  /** The call ids in the transcript, which new calls must not reuse. */
  readonly heldIds: ReadonlySet<string>;
  /** The position of each call that has appeared in an event so far, by call id. Default: none. */
  readonly places?: Map<string, number> | undefined;
  /**
   * The content of the message that the stream continues. `callCount` is the number of earlier calls in the message, and `text` is true if
   * the message already has text.
   */
  readonly carried?: { readonly text: boolean; readonly callCount: number } | undefined;
  readonly pricing?: Pricing | undefined;
  /** Receives each call as soon as it is complete. Must not throw. */
  readonly watch?: Pick<MessageWatch, "call" | "discarded" | "ended"> | undefined;
  /** Returns the limit that prevents another request after these attempts. Default: no limit. */
  readonly findSpent?: ((spent: readonly AttemptSpending[]) => EndReason | undefined) | undefined;
}

const nothing: readonly never[] = [];

/** Collects the chunks of one stream, and emits the stream's events. */
class StreamDraft implements GuardedStream {
  readonly open: GuardedStream["open"];
  readonly iteration: number;
  readonly #ports: StreamPorts;
  /**
   * The provider id of the current attempt. A provider such as `withFallback` may change the provider and the model with
   * each attempt.
   */
  provider: string;
  model: string;
  family: string | undefined;
  attempt: AttemptContent;
  readonly mayAsk: ModelCall["mayAsk"];
  readonly note: (name: string, value: Json) => void;
  /** The number of the current attempt, if the provider makes several. The stream's events contain it. */
  #number: { readonly attempt?: number; readonly isFinal?: true } = {};
  /** The usage of earlier attempts. */
  readonly #ended: AttemptSpending[] = [];
  #isBetween = false;
  /** The ids of calls from discarded attempts. Undefined if there are none. */
  discardedIds: readonly string[] | undefined;
  /** The request adjustments from all attempts. Each attempt sends its own request. */
  adjustments: StreamResult["adjustments"];
  /** Notes about the answer. Undefined if there are none. */
  notes: { [name: string]: Json } | undefined;
  spent: EndReason | undefined;

  constructor(request: ModelRequest, ports: StreamPorts) {
    const { provider } = ports;
    this.#ports = ports;
    this.attempt = new AttemptContent();
    this.mayAsk = (spent) => {
      this.spent = ports.findSpent?.(spent);
      return this.spent === undefined;
    };
    this.note = (name, value) => {
      this.notes = { ...this.notes, [name]: toJson(value) };
    };
    this.iteration = request.iteration;
    this.open = provider.stream.bind(provider, request);
    this.provider = provider.id;
    this.model = provider.model;
    this.family = provider.family;
  }

  /** The usage of each attempt, including the current one. Omits attempts that the service rejected. */
  get spendings(): readonly AttemptSpending[] {
    const { provider, model, attempt } = this;
    if (this.#isBetween && attempt.usage === undefined) return this.#ended;
    return [...this.#ended, { provider, model, usage: attempt.usage }];
  }

  /** Takes the next chunk. Throws for an invalid chunk; the iteration then ends with a provider error. */
  take(chunk: ModelChunk): ReturnType<GuardedStream["take"]> {
    const { type } = chunk;
    // Checks for text first, because nearly every chunk is text.
    if (type === "text-delta" || type === "refusal-delta") this.#addText("text", textIn(chunk, "text"));
    else if (type === "reasoning-delta") this.#addText("reasoning", textIn(chunk, "text"));
    else if (type === "call-start" || type === "call-args-delta" || type === "call-ready") this.#takeCall(chunk);
    else if (type === "request-adjusted") this.adjustments = addAdjustment(this, chunk.changes);
    else this.#takeBookkeeping(chunk);
    const { error, finish } = this.attempt;
    if (error !== undefined) return "over";
    return finish === undefined ? undefined : "finished";
  }

  /** Called after the stream has ended. Emits `tool-args-end` for the calls that were cut off. */
  endCalls(): readonly ToolCall[] {
    const { calls, finish } = this.attempt;
    if (calls === undefined) return nothing;
    for (const draft of calls.placed) if (!draft.ready) this.#sendArgs(calls, draft, true);
    return calls.placed.map((draft) => calls.toCall(draft, problemOf(finish)));
  }

  #addText(part: "text" | "reasoning", text: string): void {
    const { attempt, iteration } = this;
    const { events } = this.#ports;
    if (text === "") return;
    if (attempt.last !== part) beginPart(attempt, part, attempt.calls?.placed.length ?? 0);
    attempt[part] += text;
    const type = `${part}-delta` as const;
    if (events.wants(type)) events.send({ type, runId: events.runId, iteration, text, ...this.#number });
  }

  #takeBookkeeping(chunk: Exclude<ModelChunk, { type: `${string}-delta` | `call-${string}` | "request-adjusted" }>): void {
    const { attempt } = this;
    switch (chunk.type) {
      case "usage":
        attempt.usage = chunk.mode === "delta" ? addUsage(attempt.usage ?? noUsage, toUsage(chunk.usage)) : toUsage(chunk.usage);
        return;
      case "provider-metadata":
        attempt.providerMetadata ??= [];
        attempt.providerMetadata.push(toJson(chunk.item));
        return;
      case "details":
        attempt.details = mergeDetails(attempt.details, textIn(chunk, "text"));
        return;
      case "thought-log":
        attempt.thoughtLog = toJson(chunk.payload);
        return;
      case "attempt-start":
        return this.#startAttempt(chunk);
      case "attempt-discarded":
        return this.#discard(chunk);
      case "finish":
        textIn(chunk, "reason");
        attempt.finish = chunk.reason;
        attempt.finishRaw = textOrNone(chunk.raw);
        attempt.token = textOrNone(chunk.token);
        return;
      case "error":
        attempt.error = readProviderError(chunk.error);
        return;
      default:
        return assertNever(chunk);
    }
  }

  #takeCall(chunk: CallChunk): void {
    const { attempt, iteration } = this;
    const { carried, heldIds, places = new Map() } = this.#ports;
    attempt.calls ??= new CallDrafts({ iteration, heldIds, places, firstIndex: carried?.callCount ?? 0 });
    const { calls } = attempt;
    const { length } = calls.placed;
    const draft = calls.take(chunk);
    if (draft === undefined) return;
    if (attempt.last !== "call" && calls.placed.length > length) beginPart(attempt, "call", length);
    this.#sendArgs(calls, draft, draft.ready);
    if (!draft.ready) return;
    const { watch } = this.#ports;
    if (watch !== undefined) for (const ready of calls.takeReady()) watch.call?.(ready);
  }

  #startAttempt(chunk: Extract<ModelChunk, { type: "attempt-start" }>): void {
    const provider = textIn(chunk, "provider");
    const model = textIn(chunk, "model");
    // The usage so far belongs to the previous attempt, so it is priced with that attempt's provider and model.
    if ((provider !== this.provider || model !== this.model) && this.attempt.usage !== undefined) this.#countAttempt();
    this.#isBetween = false;
    const attempt = countOf(chunk.attempt);
    this.#number = attempt === undefined ? {} : { attempt, ...(chunk.isFinal === true && { isFinal: true }) };
    this.provider = provider;
    this.model = model;
    this.family = textOrNone(chunk.family);
  }

  #countAttempt(): void {
    const { provider, model, attempt } = this;
    this.#ended.push({ provider, model, usage: attempt.usage });
    attempt.usage = undefined;
  }

  /** Counts a failed attempt, unless the service rejected it. */
  endAttempt(failure: ProviderError): void {
    if (this.attempt.usage !== undefined || (!this.#isBetween && !wasRefused(this.attempt, failure))) this.#countAttempt();
    this.#isBetween = true;
  }

  #discard({ attempt, error }: Extract<ModelChunk, { type: "attempt-discarded" }>): void {
    const { events } = this.#ports;
    const { iteration } = this;
    const failure = readProviderError(error);
    this.endAttempt(failure);
    // Remembers the ids of discarded calls, because events may already contain them.
    const ids = (this.attempt.calls?.placed ?? nothing).flatMap(({ callId }) => callId ?? []);
    if (ids.length > 0) this.discardedIds = [...(this.discardedIds ?? nothing), ...ids];
    this.attempt = new AttemptContent();
    this.#ports.watch?.discarded?.();
    const number = countOf(attempt) ?? 0;
    events.send({ type: "attempt-discarded", runId: events.runId, iteration, attempt: number, error: failure });
  }

  /** Sends new argument text, and the end of the arguments if the call is over. */
  #sendArgs(calls: CallDrafts, draft: CallDraft, isOver: boolean): void {
    const { name, index, untold: text } = draft;
    if (text === "" && !isOver) return;
    const { events } = this.#ports;
    // Creates the id even without listeners, so that ids do not depend on whether anything is listening.
    const callId = calls.idOf(draft);
    const base = { runId: events.runId, iteration: this.iteration, callId, name, index };
    draft.untold = "";
    if (text !== "" && events.wants("tool-args-delta")) events.send({ type: "tool-args-delta", ...base, text });
    if (!isOver || !events.wants("tool-args-end")) return;
    const { args, problem } = calls.toCall(draft);
    events.send({ type: "tool-args-end", ...base, args, problem });
  }
}

/**
 * Streams one response from the model. Resolves to its result, and never rejects. If a provider throws an error, stalls, or ends
 * its stream without a finish, the `status` is "error" or "timeout". The result then contains the content received so far.
 *
 * @example
 * const result = await streamOnce({ messages, tools: [], iteration: 0 }, { provider, clock, timeouts, scope, events, heldIds });
 */
export async function streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult & Pick<Answer, "ends">> {
  const startedAt = ports.clock.now();
  const draft = new StreamDraft(request, ports);
  const end = await new StreamGuard(draft, ports).run();
  const calls = draft.endCalls();
  const durationMs = ports.clock.now() - startedAt;
  const fields = ports.watch?.ended?.(calls);
  const result = toResult(draft, end, { request, ports, calls, durationMs });
  return fields === undefined ? result : { ...result, ...(await fields) };
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
  const { attempt } = draft;
  const { text, reasoning, order, details, thoughtLog, finish, token, providerMetadata = nothing } = attempt;
  const judged = judgeEnd(end, attempt, {
    text: text.trim() !== "" || carried.text,
    calls: calls.length + carried.callCount > 0,
  });
  const error = judged.reason?.kind === "provider-error" ? judged.reason.error : undefined;
  if (error !== undefined) draft.endAttempt(error);
  const { spendings } = draft;
  const { costUSD, knownCostUSD, unpriced } = costOfAttempts(spendings, draft.iteration, ports);
  // If a limit prevented another attempt, reports the limit instead of the error.
  const { status, reason } =
    error === undefined || draft.spent === undefined ? judged : { status: "error" as const, reason: draft.spent };
  // Lists each field because a spread uses much more memory, and a long run stores thousands of results.
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
    finish,
    token,
    providerMetadata,
    usage: sumOf(spendings),
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
    notes: draft.notes,
    durationMs,
  };
}

function sumOf(spendings: readonly AttemptSpending[]): Usage | undefined {
  let sum: Usage | undefined;
  for (const { usage } of spendings) if (usage !== undefined) sum = sum === undefined ? usage : addUsage(sum, usage);
  return sum;
}

function judgeEnd(end: StreamEnd, { finish, finishRaw, error }: AttemptContent, message: MessageContent): Judgement {
  switch (end.kind) {
    case "ended":
      return judgeFinish(finish, message, finishRaw);
    case "failed":
      return { status: "error", reason: { kind: "provider-error", error: error ?? readProviderError(end.error) } };
    case "timed-out":
      return { status: "timeout", reason: { kind: end.phase, limitMs: end.limitMs } };
    case "cancelled":
      return endingOfReason(end.cause);
    default:
      return assertNever(end);
  }
}

/** Returns the cost of all attempts. It is undefined if any attempt's cost is unknown, and `knownCostUSD` is then the sum of the known costs. */
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

/** Returns the tools' names. Memoized by the array of tools, so that a long run does not store thousands of equal arrays. */
const namesOf = /* @__PURE__ */ memoize((tools: ModelRequest["tools"]): readonly string[] => tools.map(({ name }) => name));
