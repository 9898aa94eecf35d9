import { describe, expect, it } from "vitest";
import { type Journal, type Json, memoryJournal, type SavedJournal } from "turnwright";
import { type BlobStore, fileBlobStore, inspectJournal, withBlobs } from "turnwright/journal";
import { type CountedStore, createStore, optionsOf, play } from "./blob-run.ts";

describe("withBlobs", () => {
  async function record(): Promise<{ readonly saved: SavedJournal; readonly store: CountedStore }> {
    const store = createStore();
    const memory = memoryJournal();
    await play(optionsOf(1), withBlobs(memory, { store, minBytes: 1_000 }));
    return { saved: JSON.parse(JSON.stringify(memory)) as SavedJournal, store };
  }

  it.for<[what: string, damage: (texts: Map<string, string>) => void, problem: string]>([
    ["is missing", (texts) => texts.clear(), "is not in the blob store"],
    ["was changed", (texts) => [...texts.keys()].forEach((id) => texts.set(id, '"other"')), "was changed in the blob store"],
  ])('rejects the run as "journal-damaged" if a blob %s', async ([, damage, problem]) => {
    const { saved, store } = await record();
    damage(store.texts);
    const error = {
      code: "journal-damaged",
      message: expect.stringContaining(problem),
      details: { key: "i0/call/0/read/outcome" },
    };
    const open = (): Journal => withBlobs(memoryJournal(saved), { store });
    await expect(play(optionsOf(1), open())).rejects.toMatchObject(error);
    await expect(inspectJournal(open())).rejects.toMatchObject(error);
  });

  it.for<[what: string, change: (record: Json) => Json]>([
    ["a path instead of a blob id", () => ({ blob: "../../etc/passwd" })],
    ["a path as the blob id of a field", () => ({ value: { a: null }, blobs: [["a", "../secret"]] })],
    ['a blob for the inherited field "constructor"', () => ({ value: {}, blobs: [["constructor", "a".repeat(64)]] })],
    ["an unknown field", (record) => ({ ...(record as object), more: 1 })],
    ["an array", () => []],
  ])("rejects a record with %s", async ([, change]) => {
    const { saved, store } = await record();
    const steps = { ...saved.steps, "i0/call/0/read/outcome": change(saved.steps["i0/call/0/read/outcome"] ?? null) };
    store.gets.length = 0;
    await expect(play(optionsOf(1), withBlobs(memoryJournal({ steps }), { store }))).rejects.toMatchObject({
      code: "journal-damaged",
      details: { key: "i0/call/0/read/outcome" },
    });
    expect(store.gets).toEqual([]);
  });

  it("rejects records that were written without withBlobs", async () => {
    const memory = memoryJournal();
    await play(optionsOf(1), memory);
    const journal = withBlobs(memory, { store: createStore() });
    const error = { code: "journal-damaged", message: expect.stringContaining('Read it without "withBlobs"') };
    await expect(play(optionsOf(1), journal)).rejects.toMatchObject(error);
    await expect(inspectJournal(journal)).rejects.toMatchObject(error);
  });

  it("is named in the error if a journal without withBlobs reads records with blobs", async () => {
    const { saved } = await record();
    const error = {
      code: "journal-mismatch",
      message: expect.stringContaining('read it with "withBlobs"'),
    };
    await expect(play(optionsOf(1), memoryJournal(saved))).rejects.toMatchObject(error);
    await expect(inspectJournal(memoryJournal(saved))).rejects.toMatchObject(error);
  });

  it.for<[what: string, wrap: () => unknown, option: string]>([
    ["a missing journal", () => withBlobs({} as Journal, { store: createStore() }), "journal"],
    ["a missing store", () => withBlobs(memoryJournal(), {} as { store: BlobStore }), "store"],
    ["a store without a get method", () => withBlobs(memoryJournal(), { store: { put() {} } as unknown as BlobStore }), "store"],
    ["a negative size", () => withBlobs(memoryJournal(), { store: createStore(), minBytes: -1 }), "minBytes"],
    ["an empty folder", () => fileBlobStore(" "), "folder"],
  ])('throws "invalid-option" for %s', ([, wrap, option]) => {
    expect(wrap).toThrow(expect.objectContaining({ code: "invalid-option", message: expect.stringContaining(option) }));
  });
});
