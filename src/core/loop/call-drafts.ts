// Assembles text and tool calls from a stream's chunks. Handles the different ways in which providers number, interleave and repeat chunks.

import type { FinishReason, ModelChunk, PartStart, RequestChange, StreamResult } from "../types/provider.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { isRecord } from "../../shared/guards.ts";
import { textOf } from "../../shared/plain-error.ts";
import { textIn } from "../../shared/texts.ts";
import { freezeDeep, toJson } from "../../shared/json.ts";
import type { Json, ProviderError, ProviderErrorCode, Usage } from "../types/common.ts";

/** Determines the positions and ids of a stream's calls. */
export interface CallPlaces {
  readonly iteration: number;
  /** The number of calls in earlier streams of the same message. */
  readonly firstIndex: number;
  /** The call ids in the transcript, which new calls must not reuse. */
  readonly heldIds: ReadonlySet<string>;
  /** The position of each call, by call id. New calls are added to the map. */
  readonly places: Map<string, number>;
}

export type CallChunk = Extract<ModelChunk, { type: `call-${string}` }>;

export interface CallDraft {
  /** The call's position among the calls in the iteration, or -1 until the call has a name or is complete. */
  index: number;
  id: string | undefined;
  /** The call's id. Never changes once set, so that all events for the call have the same id. */
  callId: string | undefined;
  name: string;
  argsText: string;
  /** The part of `argsText` that no event has sent yet. */
  untold: string;
  args: Json;
  ready: boolean;
  problem: ToolCall["problem"];
}

/** Assembles the calls in one stream. Checks every chunk field, because a provider may be untyped. */
export class CallDrafts {
  readonly placed: CallDraft[] = [];
  readonly #places: CallPlaces;
  readonly #byKey = new Map<string, CallDraft>();
  #taken = 0;

  constructor(places: CallPlaces) {
    this.#places = places;
  }

  /** Adds one chunk, and returns its call. Returns undefined if the call has no position yet or was already complete. */
  take(chunk: CallChunk): CallDraft | undefined {
    const key = textIn(chunk, "key");
    let call = this.#byKey.get(key);
    if (call === undefined) {
      call = {
        index: -1,
        id: undefined,
        callId: undefined,
        name: "",
        argsText: "",
        untold: "",
        args: {},
        ready: false,
        problem: undefined,
      };
      this.#byKey.set(key, call);
    }
    if (call.ready) return undefined;
    if (chunk.type === "call-args-delta") {
      call.argsText += textIn(chunk, "text");
      call.untold += chunk.text;
    } else takeHead(call, chunk);
    if (call.index === -1) {
      // Does not assign a position to a call without a name, because the stream may end before the name arrives.
      if (!call.ready && call.name.trim() === "") return undefined;
      call.index = this.#places.firstIndex + this.placed.length;
      this.placed.push(call);
    }
    if (call.id !== undefined) this.idOf(call);
    return call;
  }

  /**
   * Returns a call's id: the first id that the provider sends. If an event needs an id before the provider sends one, an id is
   * generated. An id is replaced if it could be mistaken for an id with a special meaning: a path to a call in a nested run contains
   * slashes, and the id of a repeated question ends with a number sign and a number, such as "#2".
   */
  idOf(draft: CallDraft): string {
    const { iteration, heldIds, places } = this.#places;
    const { id = "", index } = draft;
    if (draft.callId !== undefined) return draft.callId;
    let callId = /\/|#\d+$/.test(id) ? "" : id;
    for (let copy = 0; callId === "" || heldIds.has(callId) || places.has(callId); copy += 1)
      callId = `call_i${iteration}_${index}${copy === 0 ? "" : `_${copy}`}`;
    places.set(callId, index);
    draft.callId = callId;
    return callId;
  }

  /** Returns the complete calls that come before all incomplete calls. Returns each call only once. */
  takeReady(): readonly ToolCall[] {
    const first = this.#taken;
    while (this.placed[this.#taken]?.ready === true) this.#taken += 1;
    return this.placed.slice(first, this.#taken).map((draft) => this.toCall(draft));
  }

  /**
   * Converts a draft to a call, and marks an incomplete one as cut off. A problem with the whole message applies to every complete call,
   * and replaces the call's own problem.
   */
  toCall(draft: CallDraft, messageProblem?: ToolCall["problem"]): ToolCall {
    const { id, name, args, argsText, ready, problem } = draft;
    return {
      callId: this.idOf(draft),
      providerCallId: id,
      name,
      // Freezes the arguments, because the transcript, the events and the callbacks share them.
      args: freezeDeep(ready && problem !== "truncated" ? args : readWholeArgs(argsText)),
      argsText: argsText === "" ? undefined : argsText,
      problem: ready ? (messageProblem ?? problem) : "truncated",
    };
  }
}

function takeHead(call: CallDraft, chunk: Exclude<CallChunk, { type: "call-args-delta" }>): void {
  const { id, name }: { readonly id?: unknown; readonly name: unknown } = chunk;
  if (typeof id === "string") call.id = id;
  // Keeps the known name if a later chunk has none, because events may already contain it. A call that never gets a name ends the run as
  // `malformed-call`.
  const given = typeof name === "string" ? name : "";
  call.name = chunk.type === "call-ready" ? given : given || call.name;
  if (chunk.type === "call-ready") takeArgs(call, chunk);
}

function takeArgs(call: CallDraft, { args, argsText, problem }: Extract<CallChunk, { type: "call-ready" }>): void {
  call.ready = true;
  if (typeof argsText === "string") call.argsText = argsText;
  if (problem !== undefined && problem !== null) {
    call.problem = problem === "truncated" ? "truncated" : "malformed";
    return;
  }
  try {
    // Some services send `null` for a tool without parameters, so it counts as `{}`.
    call.args = toJson(args === null ? {} : args);
  } catch {
    call.problem = "malformed";
  }
}

/** Parses the arguments of a call that was cut off. The cut may come after the last argument, so they may be complete. */
function readWholeArgs(argsText: string): Json {
  try {
    const args: unknown = JSON.parse(argsText);
    return isRecord(args) ? toJson(args) : {};
  } catch {
    return {};
  }
}

/** The content received in one attempt. A provider such as `withRetry` may discard the attempt. */
export class AttemptContent {
  text = "";
  reasoning = "";
  details = "";
  thoughtLog: Json | undefined;
  /** The tool calls. Like `providerMetadata`, created only when needed, because most messages have no calls. */
  calls: CallDrafts | undefined;
  providerMetadata: Json[] | undefined;
  last: PartStart["type"] | undefined;
  /** The type and start of each part. Undefined while the parts are in the usual order: reasoning, text, calls. */
  order: PartStart[] | undefined;
  /** The usage reported so far. A new report may replace it. */
  usage: Usage | undefined;
  finish: FinishReason | undefined;
  finishRaw: string | undefined;
  token: string | undefined;
  error: ProviderError | undefined;
}

const usualOrder: readonly PartStart[] = [
  { type: "reasoning", from: 0 },
  { type: "text", from: 0 },
  { type: "call", from: 0 },
];

/** Records that a new part begins, before its content is added. `count` is the number of calls before this part. */
export function beginPart(attempt: AttemptContent, type: PartStart["type"], count: number): void {
  const { last, text, reasoning } = attempt;
  attempt.last = type;
  if (attempt.order === undefined && (last === undefined || rank[last] <= rank[type])) return;
  const sizes = { reasoning: reasoning.length, text: text.length, call: count };
  attempt.order ??= usualOrder.filter((start) => sizes[start.type] > 0);
  attempt.order.push({ type, from: sizes[type] });
}

const rank = { reasoning: 0, text: 1, call: 2 } as const;

/** A part of a streamed message: text, reasoning, or consecutive calls. `from` is the position of the first call. */
export type StreamedPart =
  | { readonly type: "reasoning" | "text"; readonly text: string }
  | { readonly type: "call"; readonly from: number; readonly calls: readonly ToolCall[] };

export function partsOf({
  text,
  reasoning,
  calls,
  order = usualOrder,
}: Pick<StreamResult, "text" | "reasoning" | "calls" | "order">): StreamedPart[] {
  return order.map(({ type, from }, index): StreamedPart => {
    const end = order.slice(index + 1).find((next) => next.type === type)?.from;
    if (type === "call") return { type, from, calls: calls.slice(from, end) };
    return { type, text: (type === "text" ? text : reasoning).slice(from, end) };
  });
}

/** The error codes that a service uses to reject a request before the model starts. */
const refusals: ReadonlySet<ProviderErrorCode> = new Set([
  "auth",
  "rate-limit",
  "overloaded",
  "bad-request",
  "context-too-long",
  "request-changed",
  "content-filter",
]);

/**
 * True if the service rejected the attempt before the model started. Such an attempt costs nothing, even without a usage report.
 */
export function wasRefused(
  { text, reasoning, calls, providerMetadata }: AttemptContent,
  { code, status }: ProviderError,
): boolean {
  if (text !== "" || reasoning !== "" || calls !== undefined || providerMetadata !== undefined) return false;
  return status !== undefined || refusals.has(code);
}

export function mergeDetails(before: string, incoming: string): string {
  if (incoming.trim() === "") return before;
  return before === "" ? incoming : `${before}\n\n${incoming}`;
}

/** Adds a change that a provider made to a request. Copies only the known fields, because the journal records the change. */
export function addAdjustment(
  { provider, model, adjustments = [] }: Pick<StreamResult, "provider" | "model" | "adjustments">,
  changes: readonly RequestChange[],
): NonNullable<StreamResult["adjustments"]> {
  const copied = changes.map(({ by, field, action, reason }) => ({ by, field: textOf(field), action, reason: textOf(reason) }));
  return [...adjustments, { provider, model, changes: copied }];
}
