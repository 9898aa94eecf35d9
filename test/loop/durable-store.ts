// Simulates the store of a durable engine in memory. Records are text, writes are asynchronous, and processes can crash.

import type { Journal, Step } from "turnwright";

/** The error that a crashed process throws. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** The moment at which a process crashes. */
export interface Fate {
  /** The process crashes right after it has written this many records. */
  readonly afterRecords?: number | undefined;
  /** The process crashes right after it has written the result of this step. */
  readonly after?: string | undefined;
  /** The process crashes after the body of this step has run, before the result is written. */
  readonly within?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface DurableStore {
  /** The results as JSON text, by key, in the order in which they were written. */
  readonly records: Map<string, string>;
  /** All requested steps in order, each with its key and its input. */
  readonly asked: { readonly key: string; readonly input: unknown }[];
  open(fate?: Fate): Journal;
}

/** Creates an empty store. */
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
      // A real engine is asynchronous, so this one waits too.
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
