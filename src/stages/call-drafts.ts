// The calls of one stream while their fragments come in.

import type { Json } from "../contract/json.ts";
import type { ModelChunk } from "../contract/provider.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import { assertNever } from "../kit/assert-never.ts";
import { textIn } from "../kit/chunk-text.ts";
import { freezeDeep } from "../kit/freeze-deep.ts";
import { isRecord } from "../kit/is-record.ts";
import { parseToolArguments } from "../kit/parse-arguments.ts";
import { toJson } from "../kit/to-json.ts";
import type { IdOf } from "./call-ids.ts";

/** A chunk that says something of a call. */
export type CallChunk = Extract<ModelChunk, { type: `call-${string}` }>;

/** A call as far as it has come in. */
export interface CallDraft {
  readonly key: string;
  /** Position in the turn. */
  readonly index: number;
  id: string | undefined;
  name: string;
  argsText: string;
  args: Json;
  ready: boolean;
  problem: ToolCall["problem"];
}

/** Puts the calls of one stream together. Providers need not be typed, so that every field is looked at. */
export class CallDrafts {
  readonly #firstIndex: number;
  readonly #drafts: CallDraft[] = [];
  readonly #byKey = new Map<string, CallDraft>();
  /** How many of them `takeReady` has given. */
  #taken = 0;

  /** @param firstIndex how many calls earlier hops of the turn had */
  constructor(firstIndex: number) {
    this.#firstIndex = firstIndex;
  }

  /** Takes one chunk; gives its call, or undefined where that is complete already: then nothing changes it any more. */
  take(chunk: CallChunk): CallDraft | undefined {
    const call = this.#callOf(textIn(chunk, "key"));
    if (call.ready) return undefined;
    switch (chunk.type) {
      case "call-start":
        call.id = idIn(chunk) ?? call.id;
        call.name = nameIn(chunk);
        break;
      case "call-args-delta":
        call.argsText += textIn(chunk, "text");
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
    return call;
  }

  /** The next calls that are complete, as are all before them, each once: their ids can be told. */
  takeReady(idOf: IdOf): readonly { readonly call: ToolCall; readonly index: number }[] {
    const found: { call: ToolCall; index: number }[] = [];
    for (let draft = this.#drafts[this.#taken]; draft?.ready === true; draft = this.#drafts[this.#taken]) {
      found.push({ call: toCall(draft, idOf(this.#taken, draft.id), undefined), index: draft.index });
      this.#taken += 1;
    }
    return found;
  }

  /** The calls in the order in which they first appeared. One that was cut off before it had a name is no call. */
  toCalls(idOf: IdOf, turnProblem: ToolCall["problem"]): readonly ToolCall[] {
    const named = this.#drafts.filter(({ ready, name }) => ready || name.trim() !== "");
    return named.map((draft, index) => toCall(draft, idOf(index, draft.id), turnProblem));
  }

  #callOf(key: string): CallDraft {
    const drafts = this.#drafts;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const index = this.#firstIndex + drafts.length;
    const call: CallDraft = { key, index, id: undefined, name: "", argsText: "", args: {}, ready: false, problem: undefined };
    drafts.push(call);
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
