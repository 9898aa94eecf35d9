// Simulates the store of a durable workflow engine: records are text, writes are asynchronous, and the process can crash.

import type { Journal } from "turnwright";

export class Crash extends Error {
  override readonly name = "Crash";
}

export interface Fate {
  /** Crashes the process directly after this number of records. */
  readonly afterRecords?: number | undefined;
  /** Crashes the process directly after the result of this step has been written. */
  readonly after?: string | undefined;
  /** Crashes the process after this step has run, but before its result is written. */
  readonly within?: string | undefined;
}

export interface DurableStore {
  readonly records: Map<string, string>;
  /** The keys of the steps that runs have asked for. */
  readonly asked: string[];
  open(fate?: Fate): Journal;
}

export function createDurableStore(): DurableStore {
  const records = new Map<string, string>();
  const asked: DurableStore["asked"] = [];
  const open = ({ afterRecords, after, within }: Fate = {}): Journal => {
    let written = 0;
    let dead = false;
    const die = (): never => {
      dead = true;
      throw new Crash("The process died.");
    };
    const read = async (key: string): Promise<unknown> => {
      // The stores of real workflow engines are asynchronous.
      await Promise.resolve();
      if (dead) return die();
      const recorded = records.get(key);
      return recorded === undefined ? undefined : (JSON.parse(recorded) as unknown);
    };
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      asked.push(key);
      const recorded = await read(key);
      if (recorded !== undefined) return recorded as T;
      const answer = await body();
      if (dead || key === within) return die();
      const text = JSON.stringify(answer);
      records.set(key, text);
      written += 1;
      return written === afterRecords || key === after ? die() : (JSON.parse(text) as T);
    };
    return { durable: true, step, read };
  };
  return { records, asked, open };
}
