// Assembles texts and calls from the chunks of a stream. Providers number, interleave and repeat chunks in different ways.

import type { ModelChunk, PartStart, RequestChange, StreamResult } from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { assertNever, isRecord } from "../../utils/guards.ts";
import { textOf } from "../../utils/plain-error.ts";
import { textIn } from "../../utils/texts.ts";
import { freezeDeep, toJson } from "../../utils/json.ts";
import { parseToolArguments } from "../../utils/tool-arguments.ts";
import type { Json, ProviderError, ProviderErrorCode } from "../../types/common.ts";

export type IdOf = (index: number, id: string | undefined) => string;

interface IdScope {
  readonly iteration: number;
  readonly heldIds: ReadonlySet<string>;
  /** The position of each call, by call id. New calls are added to the map. */
  readonly places: Map<string, number>;
}

export function createCallIds({ iteration, heldIds, places }: IdScope): IdOf {
  return (index, id) => {
    // A call id from the provider is replaced if the id could be mistaken for an id with a special meaning. A path to a call in
    // a nested run contains slashes. The id of a repeated question about a call ends with a number sign and a number, such as
    // "#2".
    let callId = id === undefined || /\/|#\d+$/.test(id) ? "" : id;
    for (let copy = 0; callId === "" || heldIds.has(callId) || places.has(callId); copy += 1) {
      callId = `call_i${iteration}_${index}${copy === 0 ? "" : `_${copy}`}`;
    }
    places.set(callId, index);
    return callId;
  };
}

export type CallChunk = Extract<ModelChunk, { type: `call-${string}` }>;

export interface CallDraft {
  /** The position among the calls of the iteration. It is -1 until the call has a name or is complete. */
  index: number;
  id: string | undefined;
  /** Never changes after it is set, so that all events of the call have the same id. */
  callId: string | undefined;
  name: string;
  argsText: string;
  /** The part of `argsText` that no event contains yet. */
  untold: string;
  args: Json;
  ready: boolean;
  problem: ToolCall["problem"];
}

/** Assembles the calls of one stream. Checks every field of the chunks, because a provider may be untyped. */
export class CallDrafts {
  readonly #firstIndex: number;
  readonly #idOf: IdOf;
  readonly #placed: CallDraft[] = [];
  readonly #byKey = new Map<string, CallDraft>();
  #taken = 0;

  /** @param firstIndex the number of calls in earlier streams of the same message */
  constructor(firstIndex: number, idOf: IdOf) {
    this.#firstIndex = firstIndex;
    this.#idOf = idOf;
  }

  /** Adds one chunk, and returns its call. Returns undefined if the call has no position yet or was already complete. */
  take(chunk: CallChunk): CallDraft | undefined {
    const call = this.#callOf(textIn(chunk, "key"));
    if (call.ready) return undefined;
    switch (chunk.type) {
      case "call-start":
        call.id = idIn(chunk) ?? call.id;
        // A chunk without a name keeps the earlier name, because events may already contain it.
        call.name = nameIn(chunk) || call.name;
        break;
      case "call-args-delta":
        call.argsText += textIn(chunk, "text");
        call.untold += chunk.text;
        break;
      case "call-ready":
        call.ready = true;
        call.id = idIn(chunk) ?? call.id;
        call.name = nameIn(chunk);
        if (typeof chunk.argsText === "string") call.argsText = chunk.argsText;
        takeArgs(call, chunk);
        break;
      default:
        assertNever(chunk);
    }
    return this.#place(call) ? call : undefined;
  }

  /** Gives the call a position. A call without a name gets none, because the stream may end before the name arrives. */
  #place(call: CallDraft): boolean {
    if (call.index === -1) {
      if (!call.ready && call.name.trim() === "") return false;
      call.index = this.#firstIndex + this.#placed.length;
      this.#placed.push(call);
    }
    if (call.id !== undefined) this.idOf(call);
    return true;
  }

  /**
   * The id of a call is the first id that the provider sends. If an event needs an id before the provider sends one, an id is
   * generated.
   */
  idOf(draft: CallDraft): string {
    draft.callId ??= this.#idOf(draft.index, draft.id);
    return draft.callId;
  }

  /** Returns the complete calls that come before all incomplete calls. Returns each call only once. */
  takeReady(): readonly CallDraft[] {
    const first = this.#taken;
    while (this.#placed[this.#taken]?.ready === true) this.#taken += 1;
    return this.#placed.slice(first, this.#taken);
  }

  get count(): number {
    return this.#placed.length;
  }

  /** The ids that events may already contain. */
  get ids(): readonly string[] {
    return this.#placed.flatMap(({ callId }) => callId ?? []);
  }

  get open(): readonly CallDraft[] {
    return this.#placed.filter(({ ready }) => !ready);
  }

  toCall(draft: CallDraft, turnProblem?: ToolCall["problem"]): ToolCall {
    return toCall(draft, this.idOf(draft), turnProblem);
  }

  toCalls(turnProblem: ToolCall["problem"]): readonly ToolCall[] {
    return this.#placed.map((draft) => this.toCall(draft, turnProblem));
  }

  #callOf(key: string): CallDraft {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const call: CallDraft = {
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
    return call;
  }
}

function takeArgs(call: CallDraft, { args, problem }: { readonly args: unknown; readonly problem?: unknown }): void {
  if (problem !== undefined && problem !== null) {
    call.problem = problem === "truncated" ? "truncated" : "malformed";
    return;
  }
  try {
    // Some services send `null` as the arguments of a call without parameters.
    call.args = toJson(args === null ? {} : args);
  } catch {
    call.problem = "malformed";
  }
}

/** Marks an incomplete draft as cut off. A problem of the whole message replaces the problem of each complete call. */
function toCall(draft: CallDraft, callId: string, turnProblem: ToolCall["problem"]): ToolCall {
  const { id, name, args, argsText, ready, problem } = draft;
  return {
    callId,
    providerCallId: id,
    name,
    // Frozen, because the transcript, the events and the callbacks share this object.
    args: freezeDeep(ready && problem !== "truncated" ? args : readWholeArgs(argsText)),
    argsText: argsText === "" ? undefined : argsText,
    problem: ready ? (turnProblem ?? problem) : "truncated",
  };
}

function readWholeArgs(argsText: string): Json {
  try {
    const parsed = parseToolArguments(argsText);
    return "args" in parsed && isRecord(parsed.args) ? toJson(parsed.args) : {};
  } catch {
    return {};
  }
}

/** Returns "" if there is no name. A call without a name ends the run as `malformed-call`. */
function nameIn({ name }: { readonly name: unknown }): string {
  return typeof name === "string" ? name : "";
}

function idIn({ id }: { readonly id?: unknown }): string | undefined {
  return typeof id === "string" ? id : undefined;
}

/** The content of one attempt. A provider such as `withRetry` may discard the attempt. */
export interface AttemptContent {
  text: string;
  reasoning: string;
  details: string;
  thoughtLog: Json | undefined;
  /** The tool calls. Like `providerMetadata`, created only when needed, because most messages have no calls. */
  calls: CallDrafts | undefined;
  providerMetadata: Json[] | undefined;
  last: PartStart["type"] | undefined;
  /** The type and start of each part. Undefined while the parts are in the usual order: reasoning, text, calls. */
  order: PartStart[] | undefined;
}

export const emptyAttempt = (): AttemptContent => ({
  text: "",
  reasoning: "",
  details: "",
  thoughtLog: undefined,
  calls: undefined,
  providerMetadata: undefined,
  last: undefined,
  order: undefined,
});

const usualOrder: readonly PartStart[] = [
  { type: "reasoning", from: 0 },
  { type: "text", from: 0 },
  { type: "call", from: 0 },
];

/** Records that a new part begins, before its content is added. `count` is the number of calls before this part. */
export function beginPart(attempt: AttemptContent, type: PartStart["type"], count: number = attempt.calls?.count ?? 0): void {
  const { last, text, reasoning } = attempt;
  attempt.last = type;
  if (attempt.order === undefined && (last === undefined || rankOf(last) <= rankOf(type))) return;
  const sizes = { reasoning: reasoning.length, text: text.length, call: count };
  attempt.order ??= usualOrder.filter((start) => sizes[start.type] > 0);
  attempt.order.push({ type, from: sizes[type] });
}

function rankOf(type: PartStart["type"]): number {
  return usualOrder.findIndex((start) => start.type === type);
}

/** A part of a streamed message: a text, or consecutive calls. `from` is the position of the first call. */
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

/** The error codes with which a service rejects a request before the model starts. */
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

/** Copies only the known fields, because the journal records the changes. */
export function addAdjustment(
  { provider, model, adjustments = [] }: Pick<StreamResult, "provider" | "model" | "adjustments">,
  changes: readonly RequestChange[],
): NonNullable<StreamResult["adjustments"]> {
  const copied = changes.map(({ by, field, action, reason }) => ({ by, field: textOf(field), action, reason: textOf(reason) }));
  return [...adjustments, { provider, model, changes: copied }];
}
