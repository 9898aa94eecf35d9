// Simulates a workflow engine that identifies steps by their order. Throws if a process requests steps in another order than an
// earlier process.

import type { Journal, Step } from "turnwright";

interface OrderedStore {
  readonly keys: readonly string[];
  open(): Journal;
}

export function createOrderedStore(): OrderedStore {
  const keys: string[] = [];
  const records = new Map<string, string>();
  const open = (): Journal => {
    let asked = 0;
    const step = async <T>({ key, run }: Step<T>): Promise<T> => {
      const place = asked;
      asked += 1;
      const expected = keys[place];
      if (expected !== undefined && expected !== key) throw new Error(`Step ${place} is ${key}, and was ${expected}.`);
      keys[place] = key;
      await Promise.resolve();
      const recorded = records.get(key);
      if (recorded !== undefined) return JSON.parse(recorded) as T;
      const text = JSON.stringify(await run({}));
      records.set(key, text);
      return JSON.parse(text) as T;
    };
    return { durable: true, ordered: true, step, all: (steps) => Promise.all(steps.map((one) => step(one))) };
  };
  return { keys, open };
}
