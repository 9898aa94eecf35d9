// Puts the calls of a stream together from their fragments. Servers that call themselves compatible disagree on how fragments
// name their call, so that this file is where the disagreements end.

import {
  endArguments,
  filledOrNone,
  findRecent,
  isRecord,
  parseToolArguments,
  providerError,
  recordOf,
  textOf,
  type ModelChunk,
  type UnknownRecord,
} from "../../spi.ts";

/** The calls of one stream. */
export interface CallAssembly {
  /** How many calls there are so far. */
  readonly size: number;
  /** Takes one entry of `delta.tool_calls`. False where the stream contradicts itself and cannot go on. */
  add(entry: UnknownRecord): boolean;
  /** Declares every call ready that is not yet; `cut` says that the model was stopped and the last ones may be incomplete. */
  settle(cut: boolean): void;
  /** What servers want back with a call, such as Gemini's thought signatures, by the position of the call. */
  extras(): ReadonlyMap<number, unknown>;
}

interface OpenCall {
  readonly key: string;
  id: string | undefined;
  readonly index: number | undefined;
  name: string;
  text: string;
  /** How much of `text` has gone out. */
  sent: number;
  /** The length at which `text` was found to be incomplete. */
  incomplete: number;
  announced: boolean;
  ready: boolean;
  extra: unknown;
}

interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string;
  readonly args: string;
}

/**
 * Makes an assembly that appends its chunks to `out`.
 *
 * A fragment belongs to the call of its id, where that is known; a new id is a new call, also under an index that is taken
 * (Ollama, Grok and DeepSeek behind gateways number every call 0); else to the latest call of its index; else to the current
 * call. A fragment that names a function although its call is complete begins another call, so that arguments are never
 * merged. Facts: github.com/agno-agi/agno/pull/8880, github.com/vercel/ai/issues/14277, github.com/openai/openai-python/issues/3201.
 *
 * `call-ready` goes out in the order of the calls: as soon as the next call begins where the arguments are complete beyond
 * doubt, else when the stream has told its finish reason.
 */
export function createCallAssembly(out: ModelChunk[]): CallAssembly {
  const calls: OpenCall[] = [];
  let readyCalls = 0;

  function open({ id, index }: Fragment): OpenCall {
    while (settleComplete(calls[readyCalls], out)) readyCalls += 1;
    const key = `call-${calls.length}`;
    const known = { name: "", text: "", sent: 0, incomplete: 0, announced: false, ready: false, extra: undefined };
    const call: OpenCall = { key, id, index, ...known };
    calls.push(call);
    return call;
  }

  return {
    get size() {
      return calls.length;
    },
    add(entry) {
      const fragment = toFragment(entry);
      const found = findCall(calls, fragment);
      if (found === undefined && isEmpty(fragment)) return true;
      const call = found ?? open(fragment);
      call.extra = entry.extra_content ?? call.extra;
      call.id ??= fragment.id;
      if (found !== undefined && isRepetition(found, fragment)) return true;
      takeName(call, fragment.name);
      if (call.ready) return isLate(fragment) ? contradict(out) : true;
      const isUpToDate = call.sent > 0 && call.sent === call.text.length;
      takeArguments(call, fragment.args);
      // Cutting the piece out of the whole again would copy the whole each time.
      if (isUpToDate) sendPiece(call, fragment.args, out);
      else announce(call, out);
      return true;
    },
    settle(cut) {
      for (const call of calls) if (!call.ready) declareReady(call, endArguments(call.text, cut), out);
    },
    extras() {
      const extras = new Map<number, unknown>();
      for (const [position, call] of calls.entries()) if (call.extra !== undefined) extras.set(position, call.extra);
      return extras;
    },
  };
}

function toFragment(entry: UnknownRecord): Fragment {
  const { name, arguments: args } = recordOf(entry.function);
  return {
    id: filledOrNone(entry.id),
    index: typeof entry.index === "number" ? entry.index : undefined,
    name: textOf(name),
    // Some servers send the arguments as the object itself.
    args: typeof args === "string" ? args : typeof args === "object" && args !== null ? JSON.stringify(args) : "",
  };
}

/** The call that a fragment belongs to; undefined where it begins a new one. */
function findCall(calls: readonly OpenCall[], fragment: Fragment): OpenCall | undefined {
  const { id, index, name } = fragment;
  const current = calls[calls.length - 1];
  if (id !== undefined) return findById(calls, fragment);
  if (index !== undefined) {
    const call = findRecent(calls, farthest, (candidate) => candidate.index === index);
    if (call !== undefined) return beginsAnother(call, fragment) ? undefined : call;
    // An index that no call has, without a name, is an unreliable index.
    return name === "" ? current : undefined;
  }
  if (current === undefined || beginsAnother(current, fragment)) return undefined;
  return name === "" || current.name === "" || name === current.name ? current : undefined;
}

function findById(calls: readonly OpenCall[], fragment: Fragment): OpenCall | undefined {
  const { id, index, name } = fragment;
  const exact = findRecent(
    calls,
    farthest,
    (candidate) => candidate.id === id && (index === undefined || candidate.index === index),
  );
  const call = exact ?? findRecent(calls, farthest, (candidate) => candidate.id === id);
  if (call !== undefined) {
    if (isRepetition(call, fragment)) return call;
    return beginsAnother(call, fragment) || isHeadElsewhere(call, fragment) ? undefined : call;
  }
  // The id may come after the name: then the call has none yet.
  const nameless = findRecent(calls, farthest, (candidate) => candidate.id === undefined && candidate.index === index);
  return nameless !== undefined && (name === "" || (name === nameless.name && nameless.text === "")) ? nameless : undefined;
}

/** Whether a fragment names a function where the call that it would join can take no more. */
function beginsAnother(call: OpenCall, { name, args }: Fragment): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return call.text !== "";
  return args.trimStart().startsWith("{") && !mayBePrefix(call.text) && isCompleteObject(call.text);
}

/** A second call under the id of a complete one: it stands at another index and has a name. */
function isHeadElsewhere(call: OpenCall, { index, name }: Fragment): boolean {
  if (index === undefined || call.index === undefined || index === call.index || name === "") return false;
  return name !== call.name || isCompleteObject(call.text);
}

/** A server that sends a whole call twice has still asked for it once. */
function isRepetition(call: OpenCall, { id, args }: Fragment): boolean {
  return id !== undefined && id === call.id && args === call.text && isCompleteObject(call.text);
}

function isEmpty({ id, name, args }: Fragment): boolean {
  return id === undefined && name === "" && args.trim() === "";
}

function isLate({ args }: Fragment): boolean {
  return args.trim() !== "";
}

function contradict(out: ModelChunk[]): false {
  const message = "The server added arguments to a call after the call was complete.";
  out.push({ type: "error", error: providerError("server", message) });
  return false;
}

/** A name that is sent with every fragment is one name; another one here is the next piece of it. */
function takeName(call: OpenCall, name: string): void {
  if (name !== call.name) call.name += name;
}

/** Gateways to Bedrock send `{}` before the real object. */
function takeArguments(call: OpenCall, args: string): void {
  const isPrefixed = call.sent === 0 && mayBePrefix(call.text);
  const text = call.text + args;
  call.text = isPrefixed ? text.replace(/^\s*\{\s*\}\s*(?=\{)/, "") : text;
}

/** Tells of a call once it has a name, and of its arguments, but for a `{}` that may yet turn out to be such a prefix. */
function announce(call: OpenCall, out: ModelChunk[]): void {
  if (!call.announced) {
    if (call.name === "") return;
    call.announced = true;
    out.push({ type: "call-start", key: call.key, id: call.id, name: call.name });
  }
  if (call.sent < call.text.length && !mayBePrefix(call.text)) sendArguments(call, out);
}

function sendArguments(call: OpenCall, out: ModelChunk[]): void {
  sendPiece(call, call.sent === 0 ? call.text : call.text.slice(call.sent), out);
}

function sendPiece(call: OpenCall, text: string, out: ModelChunk[]): void {
  if (text !== "") out.push({ type: "call-args-delta", key: call.key, text });
  call.sent = call.text.length;
}

/** Declares a call ready that no further fragment could continue; false where it is not complete. */
function settleComplete(call: OpenCall | undefined, out: ModelChunk[]): boolean {
  if (call === undefined || call.ready) return call !== undefined;
  if (call.text.length === call.incomplete) return false;
  call.incomplete = call.text.length;
  if (!call.text.trimEnd().endsWith("}") || mayBePrefix(call.text)) return false;
  const ended = endArguments(call.text, false);
  if (ended.problem !== undefined) return false;
  declareReady(call, ended, out);
  return true;
}

function declareReady(call: OpenCall, ended: ReturnType<typeof endArguments>, out: ModelChunk[]): void {
  const { key, id, name } = call;
  call.ready = true;
  if (call.announced && call.sent < call.text.length) sendArguments(call, out);
  out.push({ type: "call-ready", key, id, name, ...ended });
}

/** Whether a text is no more than `{}`, or the beginning of it. */
function mayBePrefix(text: string): boolean {
  return text.length < 16 && /^\s*(?:\{\s*(?:\}\s*)?)?$/.test(text);
}

function isCompleteObject(text: string): boolean {
  if (!text.trimEnd().endsWith("}")) return false;
  const parsed = parseToolArguments(text);
  return "args" in parsed && isRecord(parsed.args);
}

/** How far back the call of a fragment is looked for: no turn has as many that are not complete. */
const farthest = 1_000;
