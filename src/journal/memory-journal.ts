// The default journal: a map of the results that the run holds anyway. It can be saved as JSON and read back.

import type { Journal, Step } from "../contract/journal.ts";
import type { Json } from "../contract/json.ts";
import { isThenable } from "../kit/is-thenable.ts";

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
  const records = new Map<string, unknown>(saved === undefined ? [] : Object.entries(saved.steps));
  const step = <T>({ key, run }: Step<T>): PromiseLike<T> | T => {
    if (records.has(key)) return records.get(key) as T;
    const answer = run({});
    if (isThenable(answer)) return answer.then((value) => keep(records, key, value));
    return keep(records, key, answer);
  };
  return {
    durable: false,
    step,
    all(steps) {
      const answers = steps.map(step);
      return answers.some(isThenable) ? Promise.all(answers) : (answers as Awaited<(typeof answers)[number]>[]);
    },
    keys: () => [...records.keys()],
    toJSON: () => ({ steps: Object.fromEntries(records) as SavedJournal["steps"] }),
  };
}

function keep<T>(records: Map<string, unknown>, key: string, value: T): T {
  records.set(key, value);
  return value;
}
