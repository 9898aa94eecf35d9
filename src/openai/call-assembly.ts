import { StreamedCall, StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments, isSameArguments } from "../shared/tool-arguments.ts";
import { filledOrNone } from "../shared/plain-error.ts";
import { type ModelChunk, providerError } from "../core/index.ts";
import { isRecord, recordOf, textOf } from "../core/kit.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { parseJson } from "../shared/json.ts";
import { JsonScan } from "../shared/json-scan.ts";

/**
 * Finds the end of the JSON object in a string that arrives in pieces. Does not detect mismatched brackets, which the JSON parser finds
 * later.
 */
class ObjectScan {
  readonly #json = new JsonScan();
  /** "closed": the object is complete, and only whitespace has followed. "broken": the text is not one JSON object. */
  #state: "open" | "closed" | "broken" = "open";
  #isObject: boolean | undefined;

  extend(piece: string): void {
    const json = this.#json;
    for (let index = 0; index < piece.length && this.#state !== "broken"; index += 1) {
      const character = piece.charAt(index);
      const isFirst = json.depth === 0 && !/\s/.test(character);
      if (isFirst && (this.#state === "closed" || character !== "{")) this.#state = "broken";
      const before = json.depth;
      json.read(character);
      if (before > 0 && json.depth === 0) this.#state = "closed";
    }
  }

  /** True if the JSON object is complete. `text` contains all pieces so far. */
  isObject(text: string): boolean {
    if (this.#state !== "closed") return false;
    return (this.#isObject ??= isRecord(parseJson(text)));
  }
}

class IndexedCall extends StreamedCall {
  readonly index: number | undefined;
  scan: ObjectScan = new ObjectScan();
  extra: unknown;
  /** The latest arguments, as long as each fragment begins with the one before. */
  #snapshot: string | undefined = "";

  constructor(calls: StreamedCalls, key: string, { index, id }: Pick<Fragment, "index" | "id">) {
    super(calls, key, { id });
    this.index = index;
  }

  get isWhole(): boolean {
    return this.scan.isObject(this.text);
  }

  /** Adds a name. Some servers repeat the whole name in every fragment, while others send it in pieces. */
  takeName(name: string): void {
    if (name !== this.name) this.name += name;
  }

  /**
   * Adds arguments. Gateways to Bedrock send `{}` before the real arguments, so a first `{}` is held back, and removed if real arguments
   * follow.
   */
  takeArguments(args: string): void {
    if (args !== "" && this.#snapshot !== undefined) this.#snapshot = args.startsWith(this.#snapshot) ? args : undefined;
    if (this.hasSent || !mayBePrefix(this.text)) {
      this.scan.extend(args);
      return this.extend(args);
    }
    this.text = (this.text + args).replace(/^\s*\{\s*\}\s*(?=\{)/, "");
    this.scan = new ObjectScan();
    this.scan.extend(this.text);
    if (mayBePrefix(this.text)) this.announce();
    else this.send();
  }

  /** Repairs the arguments if each fragment contained all arguments so far (github.com/NousResearch/hermes-agent/pull/35718). */
  takeSnapshot(): void {
    if (!this.isWhole && isRecord(parseJson(this.#snapshot ?? ""))) this.complete(this.#snapshot ?? "");
  }
}

interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string;
  readonly args: string;
}

/** Finds calls by id or index in constant time. If several calls share an id or index, a lookup returns the latest call. */
class CallIndex {
  readonly all: IndexedCall[] = [];
  readonly #byIndex = new Map<number, IndexedCall>();
  readonly #byId = new Map<string, IndexedCall>();
  readonly #byBoth = new Map<string, IndexedCall>();

  add(call: IndexedCall): void {
    this.all.push(call);
    if (call.index !== undefined) this.#byIndex.set(call.index, call);
    if (call.id !== undefined) this.#register(call, call.id);
  }

  identify(call: IndexedCall, id: string | undefined): void {
    if (call.id !== undefined || id === undefined) return;
    call.id = id;
    this.#register(call, id);
  }

  find(fragment: Fragment): IndexedCall | undefined {
    const { id, index } = fragment;
    const known = id === undefined ? undefined : (this.#byBoth.get(`${index} ${id}`) ?? this.#byId.get(id));
    if (known !== undefined) {
      const isOther = beginsAnother(known, fragment) || isHeadElsewhere(known, fragment);
      return isRepetition(known, fragment) || !isOther ? known : undefined;
    }
    if (id !== undefined) return this.#findByUnknownId(fragment);
    return index === undefined ? this.#findCurrent(fragment) : this.#findByIndex(index, fragment);
  }

  #register(call: IndexedCall, id: string): void {
    this.#byId.set(id, call);
    this.#byBoth.set(`${call.index} ${id}`, call);
  }

  #findByIndex(index: number, fragment: Fragment): IndexedCall | undefined {
    const call = this.#byIndex.get(index);
    if (call !== undefined) return beginsAnother(call, fragment) ? undefined : call;
    // A fragment without a name cannot begin a call, so without a known index it belongs to the newest call.
    return fragment.name === "" ? this.all.at(-1) : undefined;
  }

  #findCurrent(fragment: Fragment): IndexedCall | undefined {
    const current = this.all.at(-1);
    if (current === undefined || beginsAnother(current, fragment)) return undefined;
    const { name } = fragment;
    return name === "" || current.name === "" || name === current.name ? current : undefined;
  }

  #findByUnknownId(fragment: Fragment): IndexedCall | undefined {
    const { index } = fragment;
    const newest = this.all.at(-1);
    const at = index === undefined ? newest : this.#byIndex.get(index);
    if (at !== undefined) return continuesUnderOtherId(at, fragment) ? at : undefined;
    return newest !== undefined && continuesElsewhere(newest, fragment) ? newest : undefined;
  }
}

/**
 * True if a fragment with an unknown id is part of the call at its index. Some servers give the later fragments of a call a
 * different id, such as an inner server's id (github.com/mistralai/mistral-vibe/issues/1127), or each fragment a new id
 * (github.com/poolsideai/pool/issues/9).
 */
function continuesUnderOtherId(call: IndexedCall, fragment: Fragment): boolean {
  const { name, args } = fragment;
  if (isRepetition(call, fragment)) return true;
  const isFresh = !(beginsObject(args) && isComplete(call));
  if (call.name === "") return isFresh;
  // A call's id may arrive after its name, so a fragment with an id may continue a call without one.
  if (call.id === undefined) return name === "" ? isFresh : name === call.name && call.text === "";
  if (args.trim() === "") return false;
  return name === "" ? isFresh : name === call.name && isTail(call, args);
}

/** True if the arguments can only continue `call`: they cannot begin a call, or the arguments of `call` are still incomplete. */
function isTail(call: IndexedCall, args: string): boolean {
  if (call.text !== "") return !beginsObject(args) && !isComplete(call);
  return beginsObject(args) && !isRecord(parseJson(args));
}

/** True if a fragment with an unknown id and index is part of the newest call, because its arguments begin in the middle of a value. */
function continuesElsewhere(newest: IndexedCall, { name, args }: Fragment): boolean {
  if (name !== "" || args.trim() === "") return false;
  return beginsObject(args) ? newest.name !== "" && newest.text === "" : !isComplete(newest);
}

function beginsObject(args: string): boolean {
  return args.trimStart().startsWith("{");
}

function isComplete(call: IndexedCall): boolean {
  return !mayBePrefix(call.text) && call.isWhole;
}

/**
 * True if the fragment begins a new call: either its name differs and `call` has arguments, or its name is the same, `call` is complete and
 * more arguments arrive.
 */
function beginsAnother(call: IndexedCall, { name, args }: Fragment): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return call.text !== "";
  return beginsObject(args) && isComplete(call);
}

/**
 * True if the fragment begins a second call with the same id: the fragment has a name and a different index than `call`. If both names
 * are the same, `call` must also be complete.
 */
function isHeadElsewhere(call: IndexedCall, { index, name }: Fragment): boolean {
  if (index === undefined || call.index === undefined || index === call.index || name === "") return false;
  return name !== call.name || call.isWhole;
}

/**
 * True if the fragment is a second copy of a complete call, or of its arguments. Some servers send the arguments in fragments and then all
 * at once, sometimes as JSON within a JSON string (github.com/BerriAI/litellm/issues/20480).
 */
function isRepetition(call: IndexedCall, { id, name, args }: Fragment): boolean {
  if (name === "" ? call.name === "" : id === undefined || id !== call.id || name !== call.name) return false;
  if (args.trim() === "" || !call.isWhole) return false;
  const inner = args.trimStart().startsWith('"') ? parseJson(args) : undefined;
  return isSameArguments(typeof inner === "string" ? inner : args, call.text);
}

/** True for `{}`, `{` and blank text. Some servers send `{}` before the real arguments. */
function mayBePrefix(text: string): boolean {
  return text.length < 16 && /^\s*(?:\{\s*(?:\}\s*)?)?$/.test(text);
}

/**
 * Assembles calls from fragments, the entries of `delta.tool_calls`. Servers differ in how a fragment identifies its call:
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
 * `call-ready` chunks are sent in the order of the calls. If a call's arguments are certainly complete, the call becomes
 * ready when the next call begins. Every other call becomes ready after the finish reason.
 */
export class CallAssembly {
  readonly #out: ModelChunk[];
  readonly #calls = new CallIndex();
  readonly #streamed: StreamedCalls;
  /** Ids that arrived alone, without a name or arguments, by index. The rest of the call follows in a fragment without an id. */
  readonly #heads = new Map<number | undefined, string>();
  #readyCalls = 0;

  constructor(out: ModelChunk[]) {
    this.#out = out;
    this.#streamed = new StreamedCalls(out);
  }

  get size(): number {
    return this.#calls.all.length;
  }

  /** True if every call's arguments are valid. */
  get areWhole(): boolean {
    return this.#calls.all.every(({ isReady, text }) => isReady || endArguments(text, false).problem === undefined);
  }

  /** Adds an entry of `delta.tool_calls`. Returns false if the stream contradicts itself. The caller must then stop reading. */
  add(entry: UnknownRecord): boolean {
    const fragment = toFragment(entry);
    const found = this.#calls.find(fragment);
    if (found === undefined && isEmpty(fragment)) {
      if (fragment.id !== undefined) this.#heads.set(fragment.index, fragment.id);
      return true;
    }
    const call = found ?? this.#open(fragment);
    call.extra = entry.extra_content ?? call.extra;
    this.#calls.identify(call, fragment.id);
    if (found !== undefined && isRepetition(found, fragment)) return true;
    call.takeName(fragment.name);
    if (call.isReady) return fragment.args.trim() === "" || contradict(this.#out);
    call.takeArguments(fragment.args);
    return true;
  }

  /**
   * Sends `call-ready` for all remaining calls. Set `cut` if the model was stopped early: the calls are then marked as truncated.
   */
  settle(cut: boolean): void {
    this.#settleRest((text) => endArguments(text, cut));
  }

  /**
   * Sends `call-ready` for all remaining calls of a stream without a finish reason. Marks only invalid arguments as truncated.
   */
  settleWhole(): void {
    this.#settleRest((text) => endArguments(text, endArguments(text, false).problem !== undefined));
  }

  /** Returns each call's `extra_content`, by the call's position. */
  extras(): ReadonlyMap<number, unknown> {
    const own = this.#calls.all.filter(({ first }) => first === undefined);
    return new Map(own.map(({ extra }, position) => [position, extra] as const).filter(([, extra]) => extra !== undefined));
  }

  #open({ index, id = this.#heads.get(index) }: Fragment): IndexedCall {
    this.#heads.delete(index);
    while (settleComplete(this.#calls.all[this.#readyCalls])) this.#readyCalls += 1;
    const call = new IndexedCall(this.#streamed, `call-${this.size}`, { index, id });
    this.#calls.add(call);
    return call;
  }

  #settleRest(end: (text: string) => EndedArguments): void {
    for (const call of this.#calls.all.slice(this.#readyCalls)) {
      if (call.isReady) continue;
      call.takeSnapshot();
      endCall(call, end(call.text));
    }
    this.#readyCalls = this.size;
  }
}

function toFragment(entry: UnknownRecord): Fragment {
  const { name, arguments: args } = recordOf(entry.function);
  return {
    // Ignores the id "null", which Mistral's gateway sends for a missing id (github.com/mistralai/mistral-vibe/issues/1127).
    id: entry.id === "null" ? undefined : filledOrNone(entry.id),
    index: typeof entry.index === "number" ? entry.index : undefined,
    name: textOf(name),
    // Converts arguments to JSON text, because some servers send them as an object.
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

function settleComplete(call: IndexedCall | undefined): boolean {
  if (call === undefined || call.isReady) return call !== undefined;
  if (!isComplete(call)) return false;
  endCall(call, endArguments(call.text, false));
  return true;
}

type EndedArguments = ReturnType<typeof endArguments>;

function endCall(call: IndexedCall, ended: EndedArguments): void {
  call.end(ended);
  if (call.first instanceof IndexedCall) call.first.extra ??= call.extra;
}
