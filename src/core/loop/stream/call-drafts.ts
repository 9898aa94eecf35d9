// Tool calls while their arguments arrive.

import type { ModelChunk } from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { assertNever, isRecord } from "../../utils/guards.ts";
import { textIn } from "../../utils/texts.ts";
import { freezeDeep, toJson } from "../../utils/json.ts";
import { parseToolArguments } from "../../utils/tool-arguments.ts";
import type { Json } from "../../types/json.ts";
import type { ProviderError, ProviderErrorCode } from "../../types/common.ts";

/** Names a call by its place in the iteration, and by the id that the provider gave, where it gave one. */
export type IdOf = (index: number, id: string | undefined) => string;

/** The place of the calls, and the ids that are taken. */
interface CallPlace {
  readonly iteration: number;
  /** Ids in the transcript. */
  readonly heldIds: ReadonlySet<string>;
  /** The places of calls that have an id, by id. Each new one is added. */
  readonly places: Map<string, number>;
}

/** Gives each call an id of its own. */
export function createCallIds({ iteration, heldIds, places }: CallPlace): IdOf {
  return (index, id) => {
    // With a slash in it, it could iteration for the path to a call inside another one; with "#2" at its end, for a later question.
    let callId = id === undefined || /\/|#\d+$/.test(id) ? "" : id;
    for (let copy = 0; callId === "" || heldIds.has(callId) || places.has(callId); copy += 1) {
      callId = `call_i${iteration}_${index}${copy === 0 ? "" : `_${copy}`}`;
    }
    places.set(callId, index);
    return callId;
  };
}

/** A chunk that says something of a call. */
export type CallChunk = Extract<ModelChunk, { type: `call-${string}` }>;

/** A call as far as it has come in. */
export interface CallDraft {
  /** Place among the calls of the iteration; -1 until the call has a name, or is ready. */
  index: number;
  /** The id that the provider gave last. */
  id: string | undefined;
  /** Never changes once it is set, so that all events of the call have the same. */
  callId: string | undefined;
  name: string;
  argsText: string;
  /** The part of `argsText` that listeners have not heard of. */
  untold: string;
  args: Json;
  ready: boolean;
  problem: ToolCall["problem"];
}

/** Puts the calls of one stream together. Providers need not be typed, so that every field is looked at. */
export class CallDrafts {
  readonly #firstIndex: number;
  readonly #idOf: IdOf;
  /** In the order of their places. */
  readonly #placed: CallDraft[] = [];
  readonly #byKey = new Map<string, CallDraft>();
  /** How many of them `takeReady` has given. */
  #taken = 0;

  /** @param firstIndex how many calls earlier continuations of the turn had */
  constructor(firstIndex: number, idOf: IdOf) {
    this.#firstIndex = firstIndex;
    this.#idOf = idOf;
  }

  /** Takes one chunk. Gives its call, or undefined if the call has no place yet, or was complete before. */
  take(chunk: CallChunk): CallDraft | undefined {
    const call = this.#callOf(textIn(chunk, "key"));
    if (call.ready) return undefined;
    switch (chunk.type) {
      case "call-start":
        call.id = idIn(chunk) ?? call.id;
        // Events may have told the name already.
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

  /** Whether the call has a place. One that is cut off before it has a name is no call, and must not take the place of another. */
  #place(call: CallDraft): boolean {
    if (call.index === -1) {
      if (!call.ready && call.name.trim() === "") return false;
      call.index = this.#firstIndex + this.#placed.length;
      this.#placed.push(call);
    }
    if (call.id !== undefined) this.idOf(call);
    return true;
  }

  /** The id of a call: made of the first one that the provider gives, or without one if an event has to name the call before. */
  idOf(draft: CallDraft): string {
    draft.callId ??= this.#idOf(draft.index, draft.id);
    return draft.callId;
  }

  /** The next calls that are complete, as are all before them, each once. */
  takeReady(): readonly CallDraft[] {
    const first = this.#taken;
    while (this.#placed[this.#taken]?.ready === true) this.#taken += 1;
    return this.#placed.slice(first, this.#taken);
  }

  /** The calls that never became ready: their stream was cut off. */
  get open(): readonly CallDraft[] {
    return this.#placed.filter(({ ready }) => !ready);
  }

  toCall(draft: CallDraft, turnProblem?: ToolCall["problem"]): ToolCall {
    return toCall(draft, this.idOf(draft), turnProblem);
  }

  /** The calls in the order of their places. */
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

/** Arguments that no JSON text can hold, or that are nested past any use, are as malformed as broken ones. */
function takeArgs(call: CallDraft, { args, problem }: { readonly args: unknown; readonly problem?: unknown }): void {
  if (problem !== undefined && problem !== null) {
    call.problem = problem === "truncated" ? "truncated" : "malformed";
    return;
  }
  try {
    // Some services say `null` for a call without parameters.
    call.args = toJson(args === null ? {} : args);
  } catch {
    call.problem = "malformed";
  }
}

/** A call that never became ready was cut off; what the finish says of all calls outranks what one says of itself. */
function toCall(draft: CallDraft, callId: string, turnProblem: ToolCall["problem"]): ToolCall {
  const { id, name, args, argsText, ready, problem } = draft;
  return {
    callId,
    providerCallId: id,
    name,
    // Shared by the transcript, by events and by all who are shown the call.
    args: freezeDeep(ready && problem !== "truncated" ? args : readWholeArgs(argsText)),
    argsText: argsText === "" ? undefined : argsText,
    problem: ready ? (turnProblem ?? problem) : "truncated",
  };
}

/** Arguments that were complete before the cut, so that the model is shown what it asked for; else none. */
function readWholeArgs(argsText: string): Json {
  try {
    const parsed = parseToolArguments(argsText);
    return "args" in parsed && isRecord(parsed.args) ? toJson(parsed.args) : {};
  } catch {
    // Nested past any use.
    return {};
  }
}

/** A call without a name ends the run as malformed. */
function nameIn({ name }: { readonly name: unknown }): string {
  return typeof name === "string" ? name : "";
}

function idIn({ id }: { readonly id?: unknown }): string | undefined {
  return typeof id === "string" ? id : undefined;
}

/** The part of a draft that can be taken back when a wrapping provider discards an attempt. */
export interface AttemptContent {
  text: string;
  reasoning: string;
  details: string;
  thoughtLog: Json | undefined;
  /** Made with the first call, as `providerMetadata` is with the first part: most turns have neither. */
  calls: CallDrafts | undefined;
  providerMetadata: Json[] | undefined;
}

/** An attempt that has said nothing yet. */
export const emptyAttempt = (): AttemptContent => ({
  text: "",
  reasoning: "",
  details: "",
  thoughtLog: undefined,
  calls: undefined,
  providerMetadata: undefined,
});

/** Errors of services that turn a request away before the model has worked on it. */
const refusals: ReadonlySet<ProviderErrorCode> = new Set(["auth", "rate-limit", "overloaded", "bad-request", "context-too-long"]);

/** Whether an attempt was turned away, so that it has cost nothing though nobody said so. */
export function wasRefused(
  { text, reasoning, calls, providerMetadata }: AttemptContent,
  { code, status }: ProviderError,
): boolean {
  if (text !== "" || reasoning !== "" || calls !== undefined || providerMetadata !== undefined) return false;
  return status !== undefined || refusals.has(code);
}

/** Joins details by a blank line; blank ones are ignored. */
export function mergeDetails(before: string, incoming: string): string {
  if (incoming.trim() === "") return before;
  return before === "" ? incoming : `${before}\n\n${incoming}`;
}
