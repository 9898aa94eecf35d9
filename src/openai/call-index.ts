import { isRecord, isSameArguments, parseJson } from "../core/provider-kit.ts";

interface ObjectScan {
  text: string;
  depth: number;
  inString: boolean;
  isEscaped: boolean;
  /** "closed": the JSON object is closed, and only whitespace has followed. "broken": the text is not one JSON object. */
  state: "open" | "closed" | "broken";
  isObject: boolean | undefined;
}

export function createObjectScan(text: string): ObjectScan {
  const scan: ObjectScan = { text: "", depth: 0, inString: false, isEscaped: false, state: "open", isObject: undefined };
  extendScan(scan, text);
  return scan;
}

export function extendScan(scan: ObjectScan, piece: string): void {
  scan.text += piece;
  for (let index = 0; index < piece.length && scan.state !== "broken"; index += 1) {
    const code = piece.charCodeAt(index);
    if (scan.inString) readString(scan, code);
    else if (!isSpace(code)) readOutside(scan, code);
  }
}

export function isWholeObject(scan: ObjectScan): boolean {
  if (scan.state !== "closed") return false;
  scan.isObject ??= isRecord(parseJson(scan.text));
  return scan.isObject;
}

const [quote, backslash] = [0x22, 0x5c];
const openers: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);

function readString(scan: ObjectScan, code: number): void {
  if (scan.isEscaped) scan.isEscaped = false;
  else if (code === backslash) scan.isEscaped = true;
  else if (code === quote) scan.inString = false;
}

/** Counts braces and square brackets together. The JSON parser later rejects brackets that do not match. */
function readOutside(scan: ObjectScan, code: number): void {
  const isFirst = scan.depth === 0;
  if (isFirst && (scan.state === "closed" || code !== 0x7b)) scan.state = "broken";
  else if (code === quote) scan.inString = true;
  else if (openers.has(code)) scan.depth += 1;
  else if (closers.has(code)) {
    scan.depth -= 1;
    if (scan.depth === 0) scan.state = "closed";
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

export interface IndexedCall {
  id: string | undefined;
  readonly index: number | undefined;
  name: string;
  args: ObjectScan;
}

export interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string;
  readonly args: string;
}

interface CallIndex<Call extends IndexedCall> {
  readonly all: readonly Call[];
  hasId(id: string | undefined): boolean;
  add(call: Call): void;
  identify(call: Call, id: string | undefined): void;
  find(fragment: Fragment): Call | undefined;
}

/** Finds calls by id or index in constant time. If several calls share an id or index, a lookup returns the latest call. */
export function createCallIndex<Call extends IndexedCall>(): CallIndex<Call> {
  const all: Call[] = [];
  const byIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();
  const byBoth = new Map<string, Call>();

  function register(call: Call, id: string): void {
    byId.set(id, call);
    byBoth.set(`${call.index} ${id}`, call);
  }

  function findByIndex(index: number, fragment: Fragment): Call | undefined {
    const call = byIndex.get(index);
    if (call !== undefined) return beginsAnother(call, fragment) ? undefined : call;
    // A fragment without a name cannot begin a call. A fragment with neither a name nor a known index therefore counts as part of
    // the newest call.
    return fragment.name === "" ? all[all.length - 1] : undefined;
  }

  function findCurrent(fragment: Fragment): Call | undefined {
    const current = all[all.length - 1];
    if (current === undefined || beginsAnother(current, fragment)) return undefined;
    const { name } = fragment;
    return name === "" || current.name === "" || name === current.name ? current : undefined;
  }

  function findByUnknownId(fragment: Fragment): Call | undefined {
    const { index } = fragment;
    const newest = all[all.length - 1];
    const at = index === undefined ? newest : byIndex.get(index);
    if (at !== undefined) return continuesUnderOtherId(at, fragment) ? at : undefined;
    return newest !== undefined && continuesElsewhere(newest, fragment) ? newest : undefined;
  }

  return {
    all,
    hasId: (id) => id !== undefined && byId.has(id),
    identify(call, id) {
      if (call.id !== undefined || id === undefined) return;
      call.id = id;
      register(call, id);
    },
    add(call) {
      all.push(call);
      if (call.index !== undefined) byIndex.set(call.index, call);
      if (call.id !== undefined) register(call, call.id);
    },
    find(fragment) {
      const { id, index } = fragment;
      const known = id === undefined ? undefined : (byBoth.get(`${index} ${id}`) ?? byId.get(id));
      if (known !== undefined) {
        const isOther = beginsAnother(known, fragment) || isHeadElsewhere(known, fragment);
        return isRepetition(known, fragment) || !isOther ? known : undefined;
      }
      if (id !== undefined) return findByUnknownId(fragment);
      if (index !== undefined) return findByIndex(index, fragment);
      return findCurrent(fragment);
    },
  };
}

/**
 * True if a fragment with an unknown id is part of the call at its index. Some servers give the later fragments of a call another
 * id, such as the id of an inner server (github.com/mistralai/mistral-vibe/issues/1127), or each fragment a new id
 * (github.com/poolsideai/pool/issues/9).
 */
function continuesUnderOtherId(call: IndexedCall, fragment: Fragment): boolean {
  const { name, args } = fragment;
  if (isRepetition(call, fragment)) return true;
  const isFresh = !(beginsObject(args) && isComplete(call));
  if (call.name === "") return isFresh;
  // The id of a call may arrive after its name.
  if (call.id === undefined) return name === "" ? isFresh : name === call.name && call.args.text === "";
  if (args.trim() === "") return false;
  return name === "" ? isFresh : name === call.name && isTail(call, args);
}

/** True for arguments that cannot begin a call, and for the incomplete first arguments of `call`. */
function isTail(call: IndexedCall, args: string): boolean {
  if (call.args.text !== "") return !beginsObject(args) && !isComplete(call);
  return beginsObject(args) && !isWholeObject(createObjectScan(args));
}

/** True if a fragment with an unknown id and index is part of the newest call, because its arguments begin in the middle of a value. */
function continuesElsewhere(newest: IndexedCall, { name, args }: Fragment): boolean {
  if (name !== "" || args.trim() === "") return false;
  return beginsObject(args) ? newest.name !== "" && newest.args.text === "" : !isComplete(newest);
}

function beginsObject(args: string): boolean {
  return args.trimStart().startsWith("{");
}

function isComplete({ args }: IndexedCall): boolean {
  return !mayBePrefix(args.text) && isWholeObject(args);
}

/**
 * A fragment with another name begins a new call if `call` has arguments. A fragment with the same name begins a new call if
 * `call` is complete and more arguments arrive.
 */
function beginsAnother(call: IndexedCall, { name, args }: Fragment): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return call.args.text !== "";
  return beginsObject(args) && isComplete(call);
}

/**
 * True if the fragment begins a second call with the same id: the fragment has a name and another index than `call`. If both names
 * are the same, `call` must also be complete.
 */
function isHeadElsewhere(call: IndexedCall, { index, name }: Fragment): boolean {
  if (index === undefined || call.index === undefined || index === call.index || name === "") return false;
  return name !== call.name || isWholeObject(call.args);
}

/**
 * True if the fragment is a second copy of a complete call, or of its arguments. Some servers send the arguments in fragments and
 * then whole, even as JSON within a JSON string (github.com/BerriAI/litellm/issues/20480).
 */
export function isRepetition(call: IndexedCall, { id, name, args }: Fragment): boolean {
  if (name === "" ? call.name === "" : id === undefined || id !== call.id || name !== call.name) return false;
  if (args.trim() === "" || !isWholeObject(call.args)) return false;
  const inner = args.trimStart().startsWith('"') ? parseJson(args) : undefined;
  return isSameArguments(typeof inner === "string" ? inner : args, call.args.text);
}

/** True for `{}`, `{` and blank text. Some servers send `{}` before the real arguments. */
export function mayBePrefix(text: string): boolean {
  return text.length < 16 && /^\s*(?:\{\s*(?:\}\s*)?)?$/.test(text);
}
