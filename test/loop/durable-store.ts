// The store of a durable engine, in memory: records as text, answers that take their time, and processes that crash.

import type { Journal, Step } from "turnwright";

/** The error that a crashed process ends with. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** When a process dies. */
export interface Fate {
  /** Right after this many records of its own were written. */
  readonly afterRecords?: number | undefined;
  /** Right after the answer of this step was written. */
  readonly after?: string | undefined;
  /** After the body of this step has run, before its answer is written. */
  readonly within?: string | undefined;
  /** Goes with each body, as an engine's own cancellation. */
  readonly signal?: AbortSignal | undefined;
}

/** Records that outlive the processes that write them. */
export interface DurableStore {
  /** Key to answer, as JSON text, in the order of writing. */
  readonly records: Map<string, string>;
  /** Every step that was asked for, in order: key, and what its input said. */
  readonly asked: { readonly key: string; readonly input: unknown }[];
  /** The journal of a new process. */
  open(fate?: Fate): Journal;
}

/** Makes an empty store. */
export function createDurableStore(): DurableStore {
  const records = new Map<string, string>();
  const asked: DurableStore["asked"] = [];
  const open = ({ afterRecords, after, within, signal }: Fate = {}): Journal => {
    let written = 0;
    let dead = false;
    const die = (): never => {
      dead = true;
      throw new Crash("The process died.");
    };
    const step = async <T>({ key, input, run }: Step<T>): Promise<T> => {
      asked.push({ key, input });
      // An engine answers when it comes to it.
      await Promise.resolve();
      if (dead) return die();
      const recorded = records.get(key);
      if (recorded !== undefined) return JSON.parse(recorded) as T;
      const answer = await run({ signal });
      if (dead || key === within) return die();
      const text = JSON.stringify(answer);
      records.set(key, text);
      written += 1;
      return written === afterRecords || key === after ? die() : (JSON.parse(text) as T);
    };
    const read: Journal["read"] = () => new Map([...records].map(([key, answer]) => [key, JSON.parse(answer) as unknown]));
    return { durable: true, step, all: (steps) => Promise.all(steps.map((one) => step(one))), read };
  };
  return { records, asked, open };
}
