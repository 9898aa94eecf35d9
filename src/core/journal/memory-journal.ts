import type { Journal, Step } from "../types/journal.ts";
import type { Json } from "../types/common.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue } from "../utils/texts.ts";
import { isRecord, isThenable } from "../utils/guards.ts";
import { whenAllReady } from "../utils/promises.ts";

/** The JSON form of a memory journal. `steps` maps the key of each step to its result, in the order of recording. */
export type SavedJournal = { readonly steps: { readonly [key: string]: Json } };

/** A journal in memory, as returned by `memoryJournal`. */
export interface MemoryJournal extends Journal {
  readonly durable: false;
  /** Returns the keys of the steps recorded so far, in order. */
  keys(): readonly string[];
  toJSON(): SavedJournal;
}

/**
 * Makes a journal that keeps its records in memory. `runToolLoop` uses such a journal by default. A run can be resumed from its
 * memory journal. To resume in another process, save `JSON.stringify(result.journal)`, then repeat the call with the journal
 * `memoryJournal(JSON.parse(saved))`. In the same process you can pass the journal itself.
 *
 * Throws LoopError "invalid-option" if `saved` is not the parsed JSON of a memory journal.
 *
 * @example
 * const first = await runToolLoop(options);
 * const again = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(JSON.stringify(first.journal))) });
 */
export function memoryJournal(saved?: SavedJournal): MemoryJournal {
  const steps = stepsOf(saved);
  const keys = Object.keys(steps);
  const answers: unknown[] = Object.values(steps);
  let recalled: ReadonlyMap<string, unknown> | undefined = keys.length === 0 ? undefined : toIndex(keys, answers);
  let known: Set<string> | undefined;
  const has = (key: string): boolean => {
    known ??= new Set(keys);
    return known.has(key);
  };
  const keep = <T>(key: string, answer: T): T => {
    keys.push(key);
    known?.add(key);
    answers.push(answer);
    return answer;
  };
  const step = <T>({ key, run }: Step<T>): PromiseLike<T> | T => {
    // A run uses each key only once, so it never looks up its own records. If the first key is requested again, a second run has
    // started with this journal. That run must find the records of the previous run.
    if (key === keys[0] && recalled?.size !== keys.length) recalled = toIndex(keys, answers);
    if (recalled?.has(key) === true) return recalled.get(key) as T;
    const answer = run({});
    return isThenable(answer) ? answer.then((value) => keep(key, value)) : keep(key, answer);
  };
  return {
    durable: false,
    step,
    all: (steps) => whenAllReady(steps.map(step)),
    has,
    keys: () => [...keys],
    read: () => toIndex(keys, answers),
    toJSON: () => ({ steps: Object.fromEntries(keys.map((key, index) => [key, answers[index]])) as SavedJournal["steps"] }),
  };
}

function toIndex(keys: readonly string[], answers: readonly unknown[]): ReadonlyMap<string, unknown> {
  return new Map(keys.map((key, index) => [key, answers[index]]));
}

function stepsOf(saved: unknown): { readonly [key: string]: unknown } {
  if (saved === undefined) return {};
  if (isRecord(saved) && isRecord(saved["steps"])) return saved["steps"];
  throw new LoopError("invalid-option", {
    option: "saved",
    expected: "the parsed JSON of a memory journal",
    received: describeValue(saved),
  });
}

const optionalMethods = ["open", "has", "replays", "read", "wait", "toJSON"] as const;

/**
 * Copies a journal, so that a wrapper can replace some of its members. The methods are bound, because `journal` may be an
 * instance of a class.
 */
export function bindJournal(journal: Journal): Journal {
  const { durable, ordered } = journal;
  const bound: Journal = { durable, ordered, step: journal.step.bind(journal), all: journal.all.bind(journal) };
  for (const name of optionalMethods) {
    const method: unknown = Reflect.get(journal, name);
    if (typeof method === "function") Reflect.set(bound, name, method.bind(journal));
  }
  return bound;
}
