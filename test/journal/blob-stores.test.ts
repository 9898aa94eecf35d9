import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryJournal, type SavedJournal } from "turnwright";
import { fileBlobStore, fileJournal, withBlobs } from "turnwright/journal";
import { journalSuite } from "turnwright/testing";
import { createStore } from "./blob-run.ts";
import { makeFolder } from "./folder.ts";

describe("withBlobs", () => {
  describe("over memoryJournal, with blobs for almost every field", () => {
    const minBytes = 10;
    const saved = new Map<string, string>();
    const store = createStore();
    const checks = journalSuite({
      async execute(runId, body) {
        const known = saved.get(runId);
        const journal = memoryJournal(known === undefined ? undefined : (JSON.parse(known) as SavedJournal));
        try {
          return await body(withBlobs(journal, { store, minBytes }));
        } finally {
          saved.set(runId, JSON.stringify(journal));
        }
      },
    });
    for (const { title, run } of checks) it(title, run);
  });

  describe("over fileJournal, with blobs for large fields", () => {
    const checks = (folder: () => string): ReturnType<typeof journalSuite> =>
      journalSuite({
        execute: (runId, body) => {
          const journal = fileJournal(join(folder(), `${runId}.jsonl`), { fsync: false });
          return body(withBlobs(journal, { store: fileBlobStore(join(folder(), "blobs")) }));
        },
      });
    for (const [index, { title }] of checks(() => "").entries()) {
      it(title, async () => {
        const folder = makeFolder();
        await checks(() => folder)[index]?.run();
      });
    }
  });
});

describe("fileBlobStore", () => {
  const id = "0".repeat(64);

  it("stores text in files that only the owner can read, and leaves no other file behind", async () => {
    const folder = join(makeFolder(), "deep", "blobs");
    const store = fileBlobStore(folder);
    await Promise.all([store.put(id, "grüße \u0000"), store.put(id, "grüße \u0000")]);
    expect([readdirSync(folder), statSync(join(folder, id)).mode & 0o077]).toEqual([[id], 0]);
    expect(await fileBlobStore(folder).get([id, "1".repeat(64)])).toEqual(new Map([[id, "grüße \u0000"]]));
  });

  it("does not overwrite stored text", async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, id), "first");
    await fileBlobStore(folder).put(id, "second");
    expect(readFileSync(join(folder, id), "utf8")).toBe("first");
  });

  it("refuses an id that is not a hash", async () => {
    const folder = makeFolder();
    const store = fileBlobStore(folder);
    await expect(store.put("../a", "x")).rejects.toMatchObject({ code: "invalid-option" });
    await expect(store.get(["../a"])).rejects.toMatchObject({ code: "invalid-option" });
    writeFileSync(join(folder, "file"), "");
    await expect(fileBlobStore(join(folder, "file")).put(id, "x")).rejects.toMatchObject({ code: "EEXIST" });
    await expect(fileBlobStore(join(folder, "file")).get([id])).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});
