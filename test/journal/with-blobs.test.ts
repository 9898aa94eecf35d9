import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Journal, type Json, memoryJournal, type SavedJournal } from "turnwright";
import { type BlobStore, fileBlobStore, fileJournal, inspectJournal, replayJournal, withBlobs } from "turnwright/journal";
import { createMockProvider } from "turnwright/testing";
import { createStore, large, optionsOf, play } from "./blob-run.ts";
import { untouched } from "./file-run.ts";
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
    await withBlobs(memory, { store: slow, minBytes: 0 }).step("a", () => ({ b: 1 }));
    expect([seen, memory.keys()]).toEqual([[[]], ["a"]]);
  });

  it("does not write a record if the store fails, so the run can be resumed", async () => {
    const store = createStore();
    const memory = memoryJournal();
    const options = optionsOf(1);
    const full = new Error("The store is full.");
    const broken: BlobStore = { ...store, put: () => Promise.reject(full) };
    await expect(play(options, withBlobs(memory, { store: broken, minBytes: 1_000 }))).rejects.toBe(full);
    expect(memory.keys()).not.toContain("i0/call/0/read/outcome");
    const result = await play(options, withBlobs(memory, { store, minBytes: 1_000 }));
    expect(result.text).toBe("Done.");
  });

  it("returns plain values instead of promises if the journal and the store are synchronous", () => {
    const store = createStore();
    const memory = memoryJournal();
    const journal = withBlobs(memory, { store, minBytes: 10 });
    const value = { text: large, n: 1 };
    expect([journal.step("a", () => value), journal.read("a"), journal.read("b")]).toEqual([value, value, undefined]);
    const again = withBlobs(memoryJournal(JSON.parse(JSON.stringify(journal)) as SavedJournal), { store, minBytes: 10 });
    expect([again.step("a", untouched), again.read("a")]).toEqual([value, value]);
  });

  it.for<[what: string, value: Json]>([
    ["a value that looks like a reference to a blob", { blob: "a".repeat(64) }],
    ["a value that looks like a record", { value: { a: null }, blobs: [["a", "b".repeat(64)]] }],
    [
      "keys such as __proto__ and toString",
      JSON.parse(`{"z":1,"__proto__":{"a":"${large}"},"constructor":"${large}","toString":"${large}","a":2}`),
    ],
    ["keys that look like numbers", { b: large, 10: large, 9: 1 }],
    ["an array", [large, { a: 1 }]],
    ["a long string", large],
    ["null", null],
  ])("does not change %s", async ([, value]) => {
    const store = createStore();
    for (const minBytes of [0, 1_000]) {
      const memory = memoryJournal();
      const first = await withBlobs(memory, { store, minBytes }).step("a", () => ({ value }));
      const saved: SavedJournal = JSON.parse(JSON.stringify(memory));
      const again = await withBlobs(memoryJournal(saved), { store, minBytes }).step("a", untouched);
      expect([first, again].map((one) => JSON.stringify(one))).toEqual([JSON.stringify({ value }), JSON.stringify({ value })]);
    }
  });

  it("reads records that were written with a different minBytes", async () => {
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

  it("reads the blobs of each record once in a replay, and again for inspectJournal()", async () => {
    const store = createStore();
    const memory = memoryJournal();
    await play(optionsOf(40), withBlobs(memory, { store, minBytes: 1_000 }));
    const saved: SavedJournal = JSON.parse(JSON.stringify(memory));
    for (const read of [(journal: Journal) => play(optionsOf(40), journal), (journal: Journal) => inspectJournal(journal)]) {
      store.gets.length = 0;
      await read(withBlobs(memoryJournal(saved), { store, minBytes: 1_000 }));
      expect(store.gets).toEqual([...store.texts.keys()].map((id) => [id]));
    }
  });

  it("keeps the inner journal's traits and methods, even if the journal is a class instance", async () => {
    class Engine {
      readonly durable = true;
      readonly engine = true;
      readonly #records = new Map<string, unknown>([["a", { value: { n: 1 } }]]);
      step(): never {
        throw new Error("no step");
      }
      read(key: string): unknown {
        return this.#records.get(key);
      }
      open(): Promise<() => Promise<void>> {
        return Promise.resolve(() => Promise.resolve(this.#records.clear()));
      }
    }
    const engine = new Engine();
    const { durable, readOnly, engine: isEngine, ...journal } = withBlobs(engine, { store: createStore() });
    expect([durable, readOnly, isEngine, journal.read("a")]).toEqual([true, undefined, true, { n: 1 }]);
    const close = await journal.open?.();
    await close?.();
    expect(journal.read("a")).toBeUndefined();
    expect(withBlobs(memoryJournal(), { store: createStore() }).open).toBeUndefined();
  });

  it("writes a finished step's record before closing the journal", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const store = createStore();
    let finish = (): void => {};
    const slow: BlobStore = { ...store, put: () => new Promise<void>((resolve) => (finish = resolve)) };
    const journal = withBlobs(fileJournal(path), { store: slow, minBytes: 0 });
    const close = await journal.open?.();
    const stepping = journal.step("a", () => ({ b: 1 }));
    const closing = close?.();
    finish();
    await Promise.all([stepping, closing]);
    expect(readRecords(path).map(({ key }) => key)).toEqual(["a"]);
  });
});
