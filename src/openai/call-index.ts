// Finds the call that a fragment belongs to, whatever a server says of its id and its place.

import { isSameArguments } from "../core/provider-kit.ts";
import { isWholeObject, type ObjectScan } from "./object-scan.ts";

/** What of a call tells it apart. */
export interface IndexedCall {
  id: string | undefined;
  readonly index: number | undefined;
  name: string;
  args: ObjectScan;
}

/** One entry of `delta.tool_calls`. */
export interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string;
  readonly args: string;
}

/** The calls of one stream, each found in one step. */
export interface CallIndex<Call extends IndexedCall> {
  /** In the order in which they began. */
  readonly all: readonly Call[];
  /** True if a call has this id. */
  hasId(id: string | undefined): boolean;
  add(call: Call): void;
  /** Notes the id of a call that has none yet. */
  identify(call: Call, id: string | undefined): void;
  /** The call that a fragment belongs to; undefined when it begins a new one. */
  find(fragment: Fragment): Call | undefined;
}

/** Makes an index without calls. Of several calls under one key the latest counts. */
export function createCallIndex<Call extends IndexedCall>(): CallIndex<Call> {
  const all: Call[] = [];
  const byIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();
  const byBoth = new Map<string, Call>();
  /** Those without an id. */
  const nameless = new Map<number | undefined, Call>();

  function note(call: Call, id: string): void {
    byId.set(id, call);
    byBoth.set(`${call.index} ${id}`, call);
    if (nameless.get(call.index) === call) nameless.delete(call.index);
  }

  function findById(id: string, fragment: Fragment): Call | undefined {
    const { index, name } = fragment;
    const call = byBoth.get(`${index} ${id}`) ?? byId.get(id);
    if (call !== undefined) {
      if (isRepetition(call, fragment)) return call;
      return beginsAnother(call, fragment) || isHeadElsewhere(call, fragment) ? undefined : call;
    }
    // The id may come after the name: then the call has none yet.
    const begun = nameless.get(index);
    return begun !== undefined && (name === "" || (name === begun.name && begun.args.text === "")) ? begun : undefined;
  }

  function findByIndex(index: number, fragment: Fragment): Call | undefined {
    const call = byIndex.get(index);
    if (call !== undefined) return beginsAnother(call, fragment) ? undefined : call;
    // An index that no call has, without a name, is an unreliable index.
    return fragment.name === "" ? all[all.length - 1] : undefined;
  }

  return {
    all,
    hasId: (id) => id !== undefined && byId.has(id),
    identify(call, id) {
      if (call.id !== undefined || id === undefined) return;
      call.id = id;
      note(call, id);
    },
    add(call) {
      all.push(call);
      if (call.index !== undefined) byIndex.set(call.index, call);
      if (call.id === undefined) nameless.set(call.index, call);
      else note(call, call.id);
    },
    find(fragment) {
      const { id, index, name } = fragment;
      if (id !== undefined) return findById(id, fragment);
      if (index !== undefined) return findByIndex(index, fragment);
      const current = all[all.length - 1];
      if (current === undefined || beginsAnother(current, fragment)) return undefined;
      return name === "" || current.name === "" || name === current.name ? current : undefined;
    },
  };
}

/** Whether a fragment names a function where the call that it would join can take no more. */
function beginsAnother(call: IndexedCall, { name, args }: Fragment): boolean {
  if (name === "" || call.name === "") return false;
  if (name !== call.name) return call.args.text !== "";
  return args.trimStart().startsWith("{") && !mayBePrefix(call.args.text) && isWholeObject(call.args);
}

/** A second call under the id of a complete one: it stands at another index and has a name. */
function isHeadElsewhere(call: IndexedCall, { index, name }: Fragment): boolean {
  if (index === undefined || call.index === undefined || index === call.index || name === "") return false;
  return name !== call.name || isWholeObject(call.args);
}

/** A server that sends a whole call twice has still asked for it once. */
export function isRepetition(call: IndexedCall, { id, name, args }: Fragment): boolean {
  if (id === undefined || id !== call.id || (name !== "" && name !== call.name)) return false;
  return args.trim() !== "" && isWholeObject(call.args) && isSameArguments(args, call.args.text);
}

/** Whether a text is no more than `{}`, or the beginning of it. */
export function mayBePrefix(text: string): boolean {
  return text.length < 16 && /^\s*(?:\{\s*(?:\}\s*)?)?$/.test(text);
}
