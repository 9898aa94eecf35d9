// One pass while it streams: takes chunks, tells listeners, and holds what has come so far.

import type { EventSink } from "../contract/loop-event.ts";
import type { Json } from "../contract/json.ts";
import type { ProviderError } from "../contract/plain-error.ts";
import type { FinishReason, ModelCall, ModelChunk, ModelRequest, Provider } from "../contract/provider.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import type { Usage } from "../contract/usage.ts";
import { assertNever } from "../kit/assert-never.ts";
import { toJson } from "../kit/to-json.ts";
import type { GuardedStream } from "./guard-stream.ts";
import { addUsage, noUsage } from "../state/add-usage.ts";
import { problemOf } from "../state/judge-finish.ts";

/** A call while its fragments come in. */
interface CallDraft {
  readonly key: string;
  /** Position in the turn. */
  readonly index: number;
  id: string | undefined;
  name: string;
  argsText: string;
  args: Json;
  ready: boolean;
  problem: "malformed" | "truncated" | undefined;
}

/** What a draft uses of a run. */
export interface DraftPorts {
  readonly provider: Provider;
  readonly events: EventSink;
  readonly carried?: { readonly callCount: number } | undefined;
}

/** What can be taken back when a wrapping provider discards an attempt. */
interface Attempt {
  text: string;
  reasoning: string;
  details: string;
  thoughtLog: Json | undefined;
  /** Made with the first call, as `native` is with the first part: most turns have neither. */
  calls: CallDraft[] | undefined;
  native: Json[] | undefined;
}

const emptyAttempt = (): Attempt => ({
  text: "",
  reasoning: "",
  details: "",
  thoughtLog: undefined,
  calls: undefined,
  native: undefined,
});

const nothing: readonly never[] = [];

/** Joins details by a blank line; blank ones are ignored. */
function mergeDetails(before: string, incoming: string): string {
  if (incoming.trim() === "") return before;
  return before === "" ? incoming : `${before}\n\n${incoming}`;
}

/** A call that never became ready was cut off; what the finish says of all calls outranks what one says of itself. */
function toCall(
  { id, name, args, argsText, ready, problem }: CallDraft,
  callId: string,
  turnProblem: ToolCall["problem"],
): ToolCall {
  return {
    callId,
    providerCallId: id,
    name,
    args,
    argsText: argsText === "" ? undefined : argsText,
    problem: ready ? (turnProblem ?? problem) : "truncated",
  };
}

/** A provider that is not typed may leave it out; a call without a name ends the run as malformed. */
function nameIn({ name }: { readonly name: unknown }): string {
  return typeof name === "string" ? name : "";
}

/** Collects the chunks of one pass. */
export class StreamDraft implements GuardedStream {
  readonly #request: ModelRequest;
  readonly #source: Provider;
  /** Calls of earlier hops come before those of this one. */
  readonly #firstIndex: number;
  readonly #events: EventSink;
  readonly iteration: number;
  /** Who answers; a wrapping provider says so with each attempt. */
  provider: string;
  model: string;
  family: string | undefined;
  #attempt: Attempt = emptyAttempt();
  #attemptNumber: number | undefined;
  #usage: Usage | undefined;
  /** What discarded attempts have used: a snapshot must not replace it. */
  #usageBefore: Usage | undefined;
  finish: FinishReason | undefined;
  finishRaw: string | undefined;
  token: string | undefined;
  error: ProviderError | undefined;

  constructor(request: ModelRequest, { provider, events, carried }: DraftPorts) {
    this.#firstIndex = carried?.callCount ?? 0;
    this.iteration = request.iteration;
    this.#request = request;
    this.#source = provider;
    this.#events = events;
    this.provider = provider.id;
    this.model = provider.model;
    this.family = provider.family;
  }

  open(call: ModelCall): AsyncIterable<ModelChunk> {
    return this.#source.stream(this.#request, call);
  }

  get text(): string {
    return this.#attempt.text;
  }

  get reasoning(): string {
    return this.#attempt.reasoning;
  }

  get details(): string {
    return this.#attempt.details;
  }

  get thoughtLog(): Json | undefined {
    return this.#attempt.thoughtLog;
  }

  get native(): readonly Json[] {
    return this.#attempt.native ?? nothing;
  }

  get usage(): Usage | undefined {
    if (this.#usageBefore === undefined || this.#usage === undefined) return this.#usage ?? this.#usageBefore;
    return addUsage(this.#usageBefore, this.#usage);
  }

  /** Takes one chunk. Throws on what is not a chunk: that is the provider's mistake and ends the pass as its error. */
  take(chunk: ModelChunk): void {
    const { type } = chunk;
    // Asked first, because nearly every chunk is text.
    if (type === "text-delta" || type === "refusal-delta") {
      this.#attempt.text += chunk.text;
      this.#sendDelta("text-delta", chunk.text);
    } else if (type === "reasoning-delta") {
      this.#attempt.reasoning += chunk.text;
      this.#sendDelta("reasoning-delta", chunk.text);
    } else if (type === "call-start" || type === "call-args-delta" || type === "call-ready") {
      this.#takeCall(chunk);
    } else {
      this.#takeBookkeeping(chunk);
    }
  }

  /** The calls in the order in which they first appeared. */
  calls(idOf: (index: number, id: string | undefined) => string): readonly ToolCall[] {
    const problem = problemOf(this.finish);
    return this.#attempt.calls?.map((draft, index) => toCall(draft, idOf(index, draft.id), problem)) ?? nothing;
  }

  #takeBookkeeping(chunk: Exclude<ModelChunk, { type: `${string}-delta` | `call-${string}` }>): void {
    switch (chunk.type) {
      case "usage":
        this.#usage = chunk.mode === "snapshot" ? chunk.usage : addUsage(this.#usage ?? noUsage, chunk.usage);
        return;
      case "native":
        this.#attempt.native ??= [];
        this.#attempt.native.push(toJson(chunk.item));
        return;
      case "details":
        this.#attempt.details = mergeDetails(this.#attempt.details, chunk.text);
        return;
      case "thought-log":
        this.#attempt.thoughtLog = toJson(chunk.payload);
        return;
      case "attempt-start":
        this.#attemptNumber = chunk.attempt;
        this.provider = chunk.provider;
        this.model = chunk.model;
        this.family = chunk.family;
        return;
      case "attempt-discarded":
        return this.#discard(chunk.attempt, chunk.error);
      case "finish":
        this.finish = chunk.reason;
        this.finishRaw = chunk.raw;
        this.token = chunk.token;
        return;
      case "error":
        this.error = chunk.error;
        return;
      default:
        return assertNever(chunk);
    }
  }

  #takeCall(chunk: Extract<ModelChunk, { type: `call-${string}` }>): void {
    const call = this.#callOf(chunk.key);
    switch (chunk.type) {
      case "call-start":
        call.id = chunk.id ?? call.id;
        call.name = nameIn(chunk);
        return;
      case "call-args-delta":
        call.argsText += chunk.text;
        return this.#sendArgsDelta(call, chunk.text);
      case "call-ready":
        if (call.ready) return;
        call.ready = true;
        call.id = chunk.id ?? call.id;
        call.name = nameIn(chunk);
        call.argsText = chunk.argsText ?? call.argsText;
        call.problem = chunk.problem;
        if (chunk.problem === undefined) this.#takeArgs(call, chunk.args);
        return;
      default:
        return assertNever(chunk);
    }
  }

  /** Arguments that no JSON text can hold, or that are nested past any use, are as malformed as broken ones. */
  #takeArgs(call: CallDraft, args: unknown): void {
    try {
      call.args = toJson(args);
    } catch {
      call.problem = "malformed";
    }
  }

  #callOf(key: string): CallDraft {
    this.#attempt.calls ??= [];
    const { calls } = this.#attempt;
    // From the end, because a fragment nearly always belongs to the latest call.
    for (let index = calls.length - 1; index >= 0; index -= 1) {
      const call = calls[index];
      if (call?.key === key) return call;
    }
    const call: CallDraft = {
      key,
      index: this.#firstIndex + calls.length,
      id: undefined,
      name: "",
      argsText: "",
      args: {},
      ready: false,
      problem: undefined,
    };
    calls.push(call);
    return call;
  }

  #discard(attempt: number, error: ProviderError): void {
    this.#usageBefore = this.usage;
    this.#usage = undefined;
    this.#attempt = emptyAttempt();
    // How it ended is taken back as well.
    this.finish = undefined;
    this.finishRaw = undefined;
    this.token = undefined;
    this.error = undefined;
    const events = this.#events;
    events.send({ type: "attempt-discarded", runId: events.runId, iteration: this.iteration, attempt, error });
  }

  #sendDelta(type: "text-delta" | "reasoning-delta", text: string): void {
    const events = this.#events;
    if (text === "" || !events.wants(type)) return;
    const attempt = this.#attemptNumber;
    const { iteration } = this;
    const { runId } = events;
    events.send(attempt === undefined ? { type, runId, iteration, text } : { type, runId, iteration, text, attempt });
  }

  #sendArgsDelta(call: CallDraft, text: string): void {
    const events = this.#events;
    if (text === "" || !events.wants("tool-args-delta")) return;
    events.send({
      type: "tool-args-delta",
      runId: events.runId,
      iteration: this.iteration,
      index: call.index,
      name: call.name,
      text,
    });
  }
}
