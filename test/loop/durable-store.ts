// Simulates the store of a durable workflow engine: records are text, writes are asynchronous, and the process can crash.

import type { Journal, Step } from "turnwright";

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
  readonly signal?: AbortSignal | undefined;
}

export interface DurableStore {
  readonly records: Map<string, string>;
  readonly asked: { readonly key: string; readonly input: unknown }[];
  open(fate?: Fate): Journal;
}

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
      // The stores of real workflow engines are asynchronous.
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
