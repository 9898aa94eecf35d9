import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Journal, type Json, memoryJournal, type SavedJournal } from "turnwright";
import { type BlobStore, fileBlobStore, fileJournal, inspectJournal, replayJournal, withBlobs } from "turnwright/journal";
import { createMockProvider } from "turnwright/testing";
import { createStore, large, optionsOf, play } from "./blob-run.ts";
import { stepOf, untouched } from "./file-run.ts";
import { makeFolder, readRecords } from "./folder.ts";

describe("withBlobs", () => {
  it("stores large fields outside the journal, and small records in the journal", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const store = createStore();
    await play(optionsOf(2), withBlobs(fileJournal(path), { store, minBytes: 1_000 }));
    expect(Math.max(...readRecords(path).map((record) => JSON.stringify(record).length))).toBeLessThan(1_500);
    expect([...store.texts.values()]).toEqual([JSON.stringify({ n: 0, large }), JSON.stringify({ n: 1, large })]);
  });

  it("stores equal fields once, under the hash of their JSON text", async () => {
    const store = createStore();
    const journal = withBlobs(memoryJournal(), { store, minBytes: 1_000 });
    await play(
      optionsOf(3, () => large),
      journal,
    );
    const [id = ""] = store.texts.keys();
    expect([store.texts.size, id]).toEqual([1, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(store.puts).toEqual([id, id, id]);
  });

  it("stores the blobs before the record is written", async () => {
    const memory = memoryJournal();
    const seen: (readonly string[])[] = [];
    const store = createStore();
    const slow: BlobStore = {
      ...store,
      async put(id, given) {
        await Promise.resolve();
        seen.push(memory.keys());
        await store.put(id, given);
      },
    };
    await withBlobs(memory, { store: slow, minBytes: 0 }).step(stepOf("a", () => ({ b: 1 })));
    expect([seen, memory.keys()]).toEqual([[[]], ["a"]]);
  });

  it("writes no record if the store fails, so that the run can be resumed", async () => {
    const store = createStore();
    const memory = memoryJournal();
    const options = optionsOf(1);
    const full = new Error("The store is full.");
    const broken: BlobStore = { ...store, put: () => Promise.reject(full) };
    await expect(play(options, withBlobs(memory, { store: broken, minBytes: 1_000 }))).rejects.toBe(full);
    expect(memory.keys()).not.toContain("i0/tool/0/read");
    const result = await play(options, withBlobs(memory, { store, minBytes: 1_000 }));
    expect(result.text).toBe("Done.");
  });

  it("returns plain values instead of promises if the journal and the store are synchronous", () => {
    const store = createStore();
    const memory = memoryJournal();
    const journal = withBlobs(memory, { store, minBytes: 10 });
    const value = { text: large, n: 1 };
    expect(journal.step(stepOf("a", () => value))).toEqual(value);
    expect(journal.all<unknown>([stepOf("b", () => value), stepOf("c", () => [large])])).toEqual([value, [large]]);
    const again = withBlobs(memoryJournal(JSON.parse(JSON.stringify(journal)) as SavedJournal), { store, minBytes: 10 });
    expect([again.step(stepOf("a", untouched)), again.all([stepOf("b", untouched), stepOf("c", untouched)])]).toEqual([
      value,
      [value, [large]],
    ]);
    expect(again.read?.()).toEqual(
      new Map<string, unknown>([
        ["a", value],
        ["b", value],
        ["c", [large]],
      ]),
    );
  });

  it.for<[what: string, value: Json]>([
    ["a value that looks like a reference to a blob", { blob: "a".repeat(64) }],
    ["a value that looks like a record", { value: { a: null }, blobs: [["a", "b".repeat(64)]] }],
    [
      "keys of prototypes",
      JSON.parse(`{"z":1,"__proto__":{"a":"${large}"},"constructor":"${large}","toString":"${large}","a":2}`),
    ],
    ["keys that look like numbers", { b: large, 10: large, 9: 1 }],
    ["an array", [large, { a: 1 }]],
    ["a long text", large],
    ["null", null],
  ])("does not change %s", async ([, value]) => {
    const store = createStore();
    for (const minBytes of [0, 1_000]) {
      const memory = memoryJournal();
      const first = await withBlobs(memory, { store, minBytes }).step(stepOf("a", () => value));
      const saved: SavedJournal = JSON.parse(JSON.stringify(memory));
      const again = await withBlobs(memoryJournal(saved), { store, minBytes }).step(stepOf("a", untouched));
      expect([JSON.stringify(first), JSON.stringify(again)]).toEqual([JSON.stringify(value), JSON.stringify(value)]);
    }
  });

  it("reads records that were written with another minBytes", async () => {
    const store = createStore();
    const memory = memoryJournal();
    const first = await play(optionsOf(2), withBlobs(memory, { store, minBytes: 0 }));
    const saved: SavedJournal = JSON.parse(JSON.stringify(memory));
    const options = optionsOf(2);
    const again = await play(options, withBlobs(memoryJournal(saved), { store }));
    expect([again.messages, options.ran]).toEqual([first.messages, []]);
  });

  it("resumes, replays and inspects a run from its file", async () => {
    const folder = makeFolder();
    const open = (): Journal =>
      withBlobs(fileJournal(join(folder, "run.jsonl")), { store: fileBlobStore(join(folder, "blobs")), minBytes: 100 });
    const cut = optionsOf(3);
    const first = await play({ ...cut, limits: { maxIterations: 2 } }, open());
    expect(first.reason.kind).toBe("max-iterations");
    const options = optionsOf(3);
    const whole = await play(options, open());
    expect([whole.text, options.ran]).toEqual(["Done.", [2]]);
    const replayed = await play({ ...optionsOf(3), provider: createMockProvider([]) }, replayJournal(open()));
    expect(replayed.messages).toEqual(whole.messages);
    const state = await inspectJournal(open());
    expect([state.status, state.runId, state.messages]).toEqual(["completed", "run", whole.messages]);
  });

  it("reads 16 blobs at a time in a replay, and all blobs together in read()", async () => {
    const store = createStore();
    const memory = memoryJournal();
    await play(optionsOf(40), withBlobs(memory, { store, minBytes: 1_000 }));
    const saved: SavedJournal = JSON.parse(JSON.stringify(memory));
    await play(optionsOf(40), withBlobs(memoryJournal(saved), { store, minBytes: 1_000 }));
    expect(store.gets.map((ids) => ids.length)).toEqual([16, 16, 8]);
    store.gets.length = 0;
    await inspectJournal(withBlobs(memoryJournal(saved), { store, minBytes: 1_000 }));
    expect(store.gets.map((ids) => ids.length)).toEqual([40]);
  });

  it("reads blobs one after another if the journal has no `read`", async () => {
    const store = createStore();
    const memory = memoryJournal();
    await play(optionsOf(3), withBlobs(memory, { store, minBytes: 1_000 }));
    const { durable, step, all } = memoryJournal(JSON.parse(JSON.stringify(memory)) as SavedJournal);
    const journal = withBlobs({ durable, step, all }, { store, minBytes: 1_000 });
    expect(["read" in journal, "has" in journal, "open" in journal]).toEqual([false, false, false]);
    await play(optionsOf(3), journal);
    expect(store.gets.map((ids) => ids.length)).toEqual([1, 1, 1]);
  });

  it("has the optional methods of the inner journal, even if the inner journal is a class instance", async () => {
    class Engine {
      readonly durable = true;
      readonly ordered = true;
      readonly #name = "engine";
      step(): never {
        throw new Error(this.#name);
      }
      all(): never {
        throw new Error(this.#name);
      }
      has(key: string): boolean {
        return key === this.#name;
      }
      wait(key: string): Promise<Json> {
        return Promise.resolve(`${this.#name} ${key}`);
      }
    }
    const journal = withBlobs(new Engine(), { store: createStore() });
    const waited = await journal.wait?.("a");
    expect([journal.durable, journal.ordered, journal.has?.("engine"), waited]).toEqual([true, true, true, "engine a"]);
    expect([journal.read, journal.open, journal.replays]).toEqual([undefined, undefined, undefined]);
  });

  it("writes the record of a finished step before closing the journal", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const store = createStore();
    let finish = (): void => {};
    const slow: BlobStore = { ...store, put: () => new Promise<void>((resolve) => (finish = resolve)) };
    const journal = withBlobs(fileJournal(path), { store: slow, minBytes: 0 });
    const close = await journal.open?.();
    const stepping = journal.step(stepOf("a", () => ({ b: 1 })));
    const closing = close?.();
    finish();
    await Promise.all([stepping, closing]);
    expect(readRecords(path).map(({ key }) => key)).toEqual(["a"]);
  });
});
