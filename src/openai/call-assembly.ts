// Puts the calls of a stream together from their fragments. Servers that call themselves compatible disagree on how fragments
// name their call, so that this file is where the disagreements end.

import {
  endArguments,
  filledOrNone,
  FinishedCalls,
  type ModelChunk,
  providerError,
  recordOf,
  textOf,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import {
  createCallIndex,
  createObjectScan,
  extendScan,
  type Fragment,
  type IndexedCall,
  isRepetition,
  isWholeObject,
  mayBePrefix,
} from "./call-index.ts";

/** The calls of one stream. */
export interface CallAssembly {
  /** How many calls there are so far. */
  readonly size: number;
  /** Takes one entry of `delta.tool_calls`. False where the stream contradicts itself and cannot go on. */
  add(entry: UnknownRecord): boolean;
  /** Declares every call ready that is not yet; `cut` says that the model was stopped and the last ones may be incomplete. */
  settle(cut: boolean): void;
  /** The same for a stream that never said why it ended: a call is complete where its arguments are, else cut off. */
  settleWhole(): void;
  /** Fields that servers want back with a call, such as Gemini's thought signatures, by the position of the call. */
  extras(): ReadonlyMap<number, unknown>;
}

interface OpenCall extends IndexedCall {
  readonly key: string;
  /** How much of the text of its arguments has gone out. */
  sent: number;
  announced: boolean;
  ready: boolean;
  extra: unknown;
  /** Receives its chunks: a list of its own as long as it may repeat a call. */
  readonly out: ModelChunk[];
  /** True if it has repeated a call, so that it is left out. */
  isRepeated: boolean;
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
  const calls = createCallIndex<OpenCall>();
  const ports: CallPorts = { out, finished: new FinishedCalls() };
  /** All calls before this one are ready, so that no chunk looks at all of them. */
  let readyCalls = 0;

  function open({ id, index }: Fragment): OpenCall {
    while (settleComplete(calls.all[readyCalls], ports)) readyCalls += 1;
    const begun = { name: "", args: createObjectScan(""), sent: 0, announced: false, ready: false, extra: undefined };
    const held = { out: calls.hasId(id) ? [] : out, isRepeated: false };
    const call: OpenCall = { key: `call-${calls.all.length}`, id, index, ...begun, ...held };
    calls.add(call);
    return call;
  }

  function settleRest(end: (text: string) => EndedArguments): void {
    for (const call of calls.all.slice(readyCalls)) if (!call.ready) declareReady(call, end(call.args.text), ports);
    readyCalls = calls.all.length;
  }

  return {
    get size() {
      return calls.all.length;
    },
    add(entry) {
      const fragment = toFragment(entry);
      const found = calls.find(fragment);
      if (found === undefined && isEmpty(fragment)) return true;
      const call = found ?? open(fragment);
      call.extra = entry.extra_content ?? call.extra;
      calls.identify(call, fragment.id);
      if (found !== undefined && isRepetition(found, fragment)) return true;
      takeName(call, fragment.name);
      if (call.ready) return isLate(fragment) ? contradict(out) : true;
      const isUpToDate = call.sent > 0 && call.sent === call.args.text.length;
      takeArguments(call, fragment.args);
      // Cutting the piece out of the whole again would copy the whole each time.
      if (isUpToDate) sendPiece(call, fragment.args);
      else announce(call);
      return true;
    },
    settle: (cut) => settleRest((text) => endArguments(text, cut)),
    settleWhole: () =>
      settleRest((text) => {
        const ended = endArguments(text, false);
        return ended.problem === undefined ? ended : endArguments(text, true);
      }),
    extras() {
      const extras = new Map<number, unknown>();
      for (const [position, call] of calls.all.filter(({ isRepeated }) => !isRepeated).entries())
        if (call.extra !== undefined) extras.set(position, call.extra);
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
  const { text } = call.args;
  if (call.sent > 0 || !mayBePrefix(text)) extendScan(call.args, args);
  else call.args = createObjectScan((text + args).replace(/^\s*\{\s*\}\s*(?=\{)/, ""));
}

/** Tells of a call once it has a name, and of its arguments, but for a `{}` that may yet turn out to be such a prefix. */
function announce(call: OpenCall): void {
  if (!call.announced) {
    if (call.name === "") return;
    call.announced = true;
    call.out.push({ type: "call-start", key: call.key, id: call.id, name: call.name });
  }
  const { text } = call.args;
  if (call.sent < text.length && !mayBePrefix(text)) sendArguments(call);
}

function sendArguments(call: OpenCall): void {
  const { text } = call.args;
  sendPiece(call, call.sent === 0 ? text : text.slice(call.sent));
}

function sendPiece(call: OpenCall, text: string): void {
  if (text !== "") call.out.push({ type: "call-args-delta", key: call.key, text });
  call.sent = call.args.text.length;
}

/** Declares a call ready that no further fragment could continue; false where it is not complete. */
function settleComplete(call: OpenCall | undefined, ports: CallPorts): boolean {
  if (call === undefined || call.ready) return call !== undefined;
  const { args } = call;
  if (mayBePrefix(args.text) || !isWholeObject(args)) return false;
  declareReady(call, endArguments(args.text, false), ports);
  return true;
}

type EndedArguments = ReturnType<typeof endArguments>;

interface CallPorts {
  readonly out: ModelChunk[];
  readonly finished: FinishedCalls<OpenCall>;
}

function declareReady(call: OpenCall, ended: EndedArguments, { out, finished }: CallPorts): void {
  const { key, id, name, args } = call;
  call.ready = true;
  const first = finished.add(call, { id, name, argsText: args.text });
  if (first !== undefined) {
    call.isRepeated = true;
    first.extra ??= call.extra;
    return;
  }
  if (call.announced && call.sent < args.text.length) sendArguments(call);
  if (call.out !== out) for (const chunk of call.out) out.push(chunk);
  out.push({ type: "call-ready", key, id, name, ...ended });
}
