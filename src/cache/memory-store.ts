// Where a result cache keeps its texts unless it is told otherwise.

import { countBytes, type ResultStore } from "../core/entry-kit.ts";

/** Makes a store in memory. */
export function createMemoryStore(): ResultStore {
  const texts = new Map<string, { readonly text: string; readonly bytes: number }>();
  return {
    write: (id, text) => void texts.set(id, { text, bytes: countBytes(text) }),
    read: (id) => texts.get(id)?.text,
    remove: (id) => void texts.delete(id),
    list: () => [...texts].map(([id, { bytes }]) => ({ id, bytes })),
  };
}
