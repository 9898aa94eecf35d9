// Simulates a workflow engine that identifies steps by their order. Throws if a process requests steps in a different order than an
// earlier process.

import type { Journal } from "turnwright";
import { inLockstep } from "../../../src/core/loop/replay/lockstep.ts";

interface OrderedStore {
  readonly keys: readonly string[];
  open(): Journal;
}

export function createOrderedStore(): OrderedStore {
  const keys: string[] = [];
  const records = new Map<string, string>();
  const open = (): Journal => {
    let asked = 0;
    return inLockstep({
      all: (wave) =>
        Promise.all(
          wave.map(async ({ key, body }): Promise<unknown> => {
            const place = asked;
            asked += 1;
            const expected = keys[place];
            if (expected !== undefined && expected !== key) throw new Error(`Step ${place} is ${key}, and was ${expected}.`);
            keys[place] = key;
            await Promise.resolve();
            const recorded = records.get(key);
            if (recorded !== undefined) return JSON.parse(recorded) as unknown;
            const text = JSON.stringify(await body());
            records.set(key, text);
            return JSON.parse(text) as unknown;
          }),
        ),
    });
  };
  return { keys, open };
}
