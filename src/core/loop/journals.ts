// Defines a run's journal keys and first record, the types of a memory journal, and `whenParked`, which calls back once no promise can
// continue on its own.

import type { Json } from "../types/common.ts";
import type { Wait, State } from "../types/middleware.ts";
import { isThenable } from "../../shared/guards.ts";
import type { Journal } from "../types/journal.ts";
import type { Message } from "../types/message.ts";
import type { ShownTool, ToolCall } from "../types/tool-outcome.ts";

type Body<T> = () => T | PromiseLike<T>;

/** The version in the first record. A journal with a different version is refused. */
export const recordVersion = 4;

/** The first record of a run, which identifies the run. */
export interface FirstRecord {
  readonly version: number;
  readonly runId?: string | undefined;
  readonly messages: readonly Message[];
  readonly messagesDigest: string;
  readonly middleware: readonly string[];
  /** The tools at the start of the run. An answer's record describes tools that were added or changed later. */
  readonly tools: { readonly [name: string]: ShownTool };
  /** True if the run has the `pricing` option. */
  readonly priced?: true | undefined;
  /** The run's `version` option. */
  readonly codeVersion?: string | undefined;
}

/** The record of an opened wait. */
export type AskedWait = Pick<Wait, "what" | "facts" | "until" | "call" | "schema" | "fromPage">;

/** The JSON form of a memory journal: each step's result by key, in the order of recording. */
export type SavedJournal = { readonly steps: { readonly [key: string]: Json } };

/** A journal in memory, as returned by `memoryJournal`. */
export interface MemoryJournal extends Journal {
  readonly durable: false;
  /** Returns the keys of the steps recorded so far, in order. */
  keys(): readonly string[];
  toJSON(): SavedJournal;
}

export function recordSteps(records: Map<string, unknown> = new Map()): MemoryJournal {
  const keep = <T>(key: string, value: T): T => {
    records.set(key, value);
    return value;
  };
  return {
    durable: false,
    keys: () => [...records.keys()],
    toJSON: () => ({ steps: Object.fromEntries(records) as SavedJournal["steps"] }),
    read: (key) => records.get(key),
    step: <T>(key: string, body: Body<T>): T | PromiseLike<T> => {
      const found = records.get(key);
      if (found !== undefined) return found as T;
      const value = body();
      return isThenable(value) ? value.then((made) => keep(key, made)) : keep(key, value);
    },
  };
}

/** True for a read-only journal, in which a step without a record stays pending. */
export function isReplay(journal: Journal): boolean {
  return "stuck" in journal;
}

/** Runs `call` once no promise can continue on its own. Timers and I/O may still be pending. */
export const whenQuiet: (call: () => void) => void = (call) => {
  const { setImmediate: later } = globalThis as { readonly setImmediate?: (call: () => void) => unknown };
  if (later === undefined) setTimeout(call, 0);
  else later(call);
};

let parking = 0;

/** True while a `whenParked` check has not run yet. */
export function isParking(): boolean {
  return parking > 0;
}

/**
 * Calls `check` once no promise can continue on its own. `inLockstep` submits no steps before that, because another call may take the place
 * of a parked one.
 */
export function whenParked(check: () => void): void {
  parking += 1;
  whenQuiet(() => {
    parking -= 1;
    check();
  });
}

/** Returns the prefix of an iteration's keys. */
export function placeOf({ iteration, retry }: Pick<State, "iteration" | "retry">): string {
  return retry === 0 ? `i${iteration}` : `i${iteration}~${retry + 1}`;
}

/** Returns the name of a message's step, for example "request", or "request~2" for the first continuation of a paused message. */
export function stepOf(step: "request" | "answered", continuation: number): string {
  return continuation === 0 ? step : `${step}~${continuation + 1}`;
}

/** Returns a call's key. Escapes the tool's name, which may contain a slash. */
export function callPlace(state: State, index: number, name: string): string {
  return `${placeOf(state)}/call/${index}/${name.replaceAll("%", "%25").replaceAll("/", "%2F")}`;
}

/**
 * Returns the prefix of a wait's keys. Each attempt has its own prefix, because a wait is opened again if the facts shown to the person
 * have changed.
 */
export function waitKey(id: string, attempt = 1): string {
  return `wait/${id}/${attempt}`;
}

/** Returns the key of the record in which the run decides how to continue after the calls. */
export function nextKeyOf(state: State): string {
  return `${placeOf(state)}/next`;
}

export interface PlacedCall {
  readonly call: ToolCall;
  readonly index: number;
}
