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

export interface CallAssembly {
  readonly size: number;
  /** True if the arguments of all calls are valid. */
  readonly areWhole: boolean;
  /** Adds an entry of `delta.tool_calls`. Returns false if the stream contradicts itself. The caller must then stop reading. */
  add(entry: UnknownRecord): boolean;
  /**
   * Sends `call-ready` for all remaining calls. Set `cut` if the model was stopped early: the calls are then marked as truncated.
   */
  settle(cut: boolean): void;
  /**
   * Sends `call-ready` for all remaining calls of a stream without a finish reason. Marks only invalid arguments as truncated.
   */
  settleWhole(): void;
  /** The `extra_content` of each call, by the position of the call. */
  extras(): ReadonlyMap<number, unknown>;
}

interface OpenCall extends IndexedCall {
  readonly key: string;
  sent: number;
  announced: boolean;
  ready: boolean;
  extra: unknown;
  /**
   * Receives the chunks of this call. `out` is a separate list if the call may repeat an earlier call, so that the chunks can be
   * discarded.
   */
  readonly out: ModelChunk[];
  isRepeated: boolean;
}

/**
 * A fragment is an entry of `delta.tool_calls`. Servers differ in how a fragment identifies its call:
 *
 * - A fragment with a known id is part of the call with that id. A fragment with a new id and a name begins a call, even if its
 *   index is already used: Ollama, Grok, and DeepSeek behind gateways give every call the index 0. A new id alone does not begin a
 *   call at a used index, unless new arguments begin after complete ones.
 * - A fragment without an id is part of the newest call with the fragment's index. A fragment with neither an id nor an index is
 *   part of the newest call.
 * - If the call found by these rules is already complete, a fragment with a function name begins a new call. The arguments of two
 *   calls are never joined.
 *
 * Evidence: github.com/agno-agi/agno/pull/8880, github.com/vercel/ai/issues/14277, github.com/openai/openai-python/issues/3201.
 *
 * `call-ready` chunks are sent in the order of the calls. If the arguments of a call are certainly complete, the call becomes
 * ready when the next call begins. Every other call becomes ready after the finish reason.
 */
export function createCallAssembly(out: ModelChunk[]): CallAssembly {
  const calls = createCallIndex<OpenCall>();
  const ports: CallPorts = { out, finished: new FinishedCalls() };
  /** The ids of fragments that have neither a name nor arguments, by index. The call itself follows without the id. */
  const heads = new Map<number | undefined, string>();
  let readyCalls = 0;

  function open({ index, id = heads.get(index) }: Fragment): OpenCall {
    heads.delete(index);
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
    get areWhole() {
      return calls.all.every(({ ready, args }) => ready || endArguments(args.text, false).problem === undefined);
    },
    add(entry) {
      const fragment = toFragment(entry);
      const found = calls.find(fragment);
      if (found === undefined && isEmpty(fragment)) {
        if (fragment.id !== undefined) heads.set(fragment.index, fragment.id);
        return true;
      }
      const call = found ?? open(fragment);
      call.extra = entry.extra_content ?? call.extra;
      calls.identify(call, fragment.id);
      if (found !== undefined && isRepetition(found, fragment)) return true;
      takeName(call, fragment.name);
      if (call.ready) return fragment.args.trim() === "" || contradict(out);
      const isUpToDate = call.sent > 0 && call.sent === call.args.text.length;
      takeArguments(call, fragment.args);
      // The piece is sent without `sendArguments`, which would copy the whole text for each fragment.
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
    // Mistral's gateway writes "null" (github.com/mistralai/mistral-vibe/issues/1127).
    id: entry.id === "null" ? undefined : filledOrNone(entry.id),
    index: typeof entry.index === "number" ? entry.index : undefined,
    name: textOf(name),
    // Some servers send the arguments as an object.
    args: typeof args === "string" ? args : typeof args === "object" && args !== null ? JSON.stringify(args) : "",
  };
}

function isEmpty({ name, args }: Fragment): boolean {
  return name === "" && args.trim() === "";
}

function contradict(out: ModelChunk[]): false {
  const message = "The server added arguments to a call after the call was complete.";
  out.push({ type: "error", error: providerError("server", message) });
  return false;
}

/** Some servers repeat the whole name of a call in every fragment. Others send the name in pieces. */
function takeName(call: OpenCall, name: string): void {
  if (name !== call.name) call.name += name;
}

/** Gateways to Bedrock send `{}` before the real arguments object, so the `{}` is removed. */
function takeArguments(call: OpenCall, args: string): void {
  const { text } = call.args;
  if (call.sent > 0 || !mayBePrefix(text)) extendScan(call.args, args);
  else call.args = createObjectScan((text + args).replace(/^\s*\{\s*\}\s*(?=\{)/, ""));
}

/** Sends `call-start` once the name is known. Arguments that are `{}` are not sent yet, because real arguments may follow. */
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
