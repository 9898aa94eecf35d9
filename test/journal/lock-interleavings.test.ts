import { existsSync } from "node:fs";
import promises, { open as openFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { isLoopError } from "turnwright";
import { lockFile } from "../../src/journal/file-lock.ts";
import { makeFolder } from "./folder.ts";

type Lock = typeof lockFile;
type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Lets one waiting operation begin at a time, and only when no other operation is running. */
class Turns {
  #waiting: (() => void)[] = [];
  #running = 0;

  async take<T>(body: () => T | Promise<T>): Promise<T> {
    await new Promise<void>((begin) => this.#waiting.push(begin));
    return this.count(body);
  }

  async count<T>(body: () => T | Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await body();
    } finally {
      this.#running -= 1;
    }
  }

  async giveAll(work: Promise<unknown>, choose: (count: number) => number): Promise<void> {
    const state = { isOver: false };
    const over = work.finally(() => (state.isOver = true));
    over.catch(() => {});
    while (!state.isOver) {
      await new Promise((resolve) => void setImmediate(resolve));
      if (this.#running > 0 || this.#waiting.length === 0) continue;
      const [begin] = this.#waiting.splice(choose(this.#waiting.length), 1);
      begin?.();
    }
    await over;
  }
}

/** Makes each operation on a file wait for its turn. */
async function takeTurns(turns: Turns): Promise<() => void> {
  const probe = await openFile(import.meta.filename);
  await probe.close();
  const wrap = (owner: Methods, name: string, isTurn: boolean): void => {
    const original = owner[name];
    vi.spyOn(owner, name).mockImplementation(async function (this: unknown, ...args) {
      const perform = async (): Promise<unknown> => original?.apply(this, args);
      return isTurn ? turns.take(perform) : turns.count(perform);
    });
  };
  const files = promises as unknown as Methods;
  const handle: Methods = Object.getPrototypeOf(probe);
  for (const name of ["open", "readFile", "rm"]) wrap(files, name, true);
  for (const name of ["appendFile", "read"]) wrap(handle, name, true);
  wrap(files, "lstat", false);
  wrap(handle, "stat", false);
  syncBuiltinESMExports();
  return () => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  };
}

it("lockFile gives a file to one holder at a time, however the operations on files interleave", async () => {
  // A second copy of the module stands for another copy of the package in the same process.
  // @ts-expect-error -- TypeScript does not know the query.
  const { lockFile: otherLock }: { lockFile: Lock } = await import("../../src/journal/file-lock.ts?other");
  const folder = makeFolder();
  const refused = (error: unknown): undefined => {
    if (!isLoopError(error, "journal-locked")) throw error;
  };
  for (const lock of [lockFile, otherLock]) await lock({ path: folder, place: join(folder, "first") }).then((unlock) => unlock());
  const actors = fc.array(fc.boolean(), { minLength: 2, maxLength: 4 });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(actors, fc.infiniteStream(fc.nat(11)), async (others, choices) => {
      const place = join(folder, String((round += 1)));
      const turns = new Turns();
      let holders = 0;
      let most = 0;
      const act = async (lock: Lock): Promise<void> => {
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const unlock = await lock({ path: place, place }).catch(refused);
          if (unlock === undefined) continue;
          holders += 1;
          most = Math.max(most, holders);
          await turns.take(() => (holders -= 1));
          await unlock();
        }
      };
      const restore = await takeTurns(turns);
      try {
        const acts = Promise.all(others.map((isOther) => act(isOther ? otherLock : lockFile)));
        await turns.giveAll(acts, (count) => (choices.next().value ?? 0) % count);
      } finally {
        restore();
      }
      expect([most, existsSync(`${place}.lock`)]).toEqual([1, false]);
    }),
    { numRuns: 60 },
  );
});
