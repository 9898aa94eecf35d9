// The default journal: a map of the results that the run holds anyway. It can be saved as JSON and read back.

import type { Journal, Step } from "../contract/journal.ts";
import type { Json } from "../contract/json.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { whenAllReady } from "../kit/when-ready.ts";

/** What a memory journal becomes in JSON: step key to answer, in the order of recording. */
export type SavedJournal = { readonly steps: { readonly [key: string]: Json } };

/** A journal in memory. */
export interface MemoryJournal extends Journal {
  readonly durable: false;
  /** Keys recorded so far, in order. */
  keys(): readonly string[];
  toJSON(): SavedJournal;
}

/**
 * Makes a journal that keeps its records in memory: `runToolLoop` takes one when it is given none. Every run can be resumed from it,
 * also elsewhere: save `JSON.stringify(result.journal)`, and hand `memoryJournal(JSON.parse(saved))` to the same call.
 *
 * @example
 * const first = await runToolLoop(options);
 * const again = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(JSON.stringify(first.journal))) });
 */
export function memoryJournal(saved?: SavedJournal): MemoryJournal {
  const recalled = new Map<string, unknown>(saved === undefined ? [] : Object.entries(saved.steps));
  // Keys are unique, so that what this run adds is never looked up: a list is all it takes.
  const keys = [...recalled.keys()];
  const answers = [...recalled.values()];
  const keep = <T>(key: string, answer: T): T => {
    keys.push(key);
    answers.push(answer);
    return answer;
  };
  const step = <T>({ key, run }: Step<T>): PromiseLike<T> | T => {
    if (recalled.size > 0 && recalled.has(key)) return recalled.get(key) as T;
    const answer = run({});
    return isThenable(answer) ? answer.then((value) => keep(key, value)) : keep(key, answer);
  };
  return {
    durable: false,
    step,
    all: (steps) => whenAllReady(steps.map(step)),
    keys: () => [...keys],
    toJSON: () => ({ steps: Object.fromEntries(keys.map((key, index) => [key, answers[index]])) as SavedJournal["steps"] }),
  };
}
