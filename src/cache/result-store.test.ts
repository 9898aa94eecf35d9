import { access, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runTool } from "../testing/run-tool.ts";
import { createResultCache } from "./result-cache.ts";
import { directoryStore } from "./result-store.ts";

const id = "abc-0123456789abcdef01234567";
const other = "abd-0123456789abcdef01234567";

let root = "";
let directory = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "turnwright-cache-"));
  directory = join(root, "deep", "cache");
});
afterEach(() => rm(root, { recursive: true, force: true }));

it("directoryStore: makes its files readable only by their owner", async () => {
  const store = directoryStore(directory);
  await store.write(id, "é😀\r\n");
  expect([await store.read(id), await store.list()]).toEqual(["é😀\r\n", [{ id, bytes: 8 }]]);
  expect(await readdir(directory)).toEqual([`${id}.txt`]);
  if (process.platform !== "win32") {
    expect([(await stat(directory)).mode & 0o777, (await stat(join(directory, `${id}.txt`))).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  }
  await store.remove(id);
  expect([await store.read(id), await store.list()]).toEqual([undefined, []]);
});

it("directoryStore: is empty and creates no directory before the first write", async () => {
  const store = directoryStore(directory);
  await store.remove(id);
  expect([await store.read(id), await store.list(), await readdir(root)]).toEqual([undefined, [], []]);
});

it("directoryStore: does not overwrite an existing result", async () => {
  const store = directoryStore(directory);
  await store.write(id, "first");
  await expect(store.write(id, "second")).rejects.toMatchObject({ code: "EEXIST" });
  expect(await store.read(id)).toBe("first");
});

describe.for<string>([
  "../escape",
  "..",
  "/etc/passwd",
  "abc-0123456789abcdef01234567/../../escape",
  "abc-0123456789abcdef01234567\0",
  "ABC-0123456789abcdef01234567",
  "",
  "CON",
])("directoryStore: the id %j", (bad) => {
  it("is rejected by read(), write() and remove()", async () => {
    const store = directoryStore(directory);
    await mkdir(directory, { recursive: true });
    await writeFile(join(root, "escape.txt"), "secret");
    for (const use of [() => store.read(bad), () => store.write(bad, "x"), () => store.remove(bad)]) {
      await expect(use()).rejects.toThrow("This is not the id of a cached result.");
    }
    expect([await readFile(join(root, "escape.txt"), "utf8"), await readdir(directory)]).toEqual(["secret", []]);
  });
});

describe("directoryStore with symbolic links", () => {
  it("reads, writes and lists nothing through a symbolic link", async () => {
    const store = directoryStore(directory);
    const secret = join(root, "secret");
    await mkdir(directory, { recursive: true });
    await writeFile(secret, "secret");
    await symlink(secret, join(directory, `${id}.txt`));
    await symlink(join(root, "new"), join(directory, `${other}.txt`));
    expect([await store.read(id), await store.read(other), await store.list()]).toEqual([undefined, undefined, []]);
    await expect(store.write(other, "x")).rejects.toMatchObject({ code: "EEXIST" });
    await store.remove(id);
    expect(await readFile(secret, "utf8")).toBe("secret");
    await expect(access(join(root, "new"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("rejects a symbolic link in place of the directory", async () => {
    const elsewhere = join(root, "elsewhere");
    const linked = join(root, "linked");
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, `${id}.txt`), "secret");
    await symlink(elsewhere, linked);
    const store = directoryStore(linked);
    for (const use of [() => store.read(id), () => store.write(other, "x"), () => store.remove(id), () => store.list()]) {
      await expect(use()).rejects.toThrow("is not a directory, or is a symbolic link");
    }
    expect(await readdir(elsewhere)).toEqual([`${id}.txt`]);
  });
});

it("directoryStore: neither removes nor counts files that are not cached results", async () => {
  const store = directoryStore(directory);
  await mkdir(join(directory, `${other}.txt`), { recursive: true });
  await writeFile(join(directory, "notes.txt"), "mine");
  await writeFile(join(directory, `${id}.md`), "mine");
  const cache = createResultCache({ store, maxBytes: 4 });
  await cache.cacher.store("abcd", { toolName: "search" });
  await cache.cacher.store("efgh", { toolName: "search" });
  expect((await store.list()).length).toBe(1);
  expect(await readdir(directory)).toEqual(expect.arrayContaining(["notes.txt", `${id}.md`, `${other}.txt`]));
  expect(await store.read(other)).toBeUndefined();
});

it("directoryStore: keeps a result for later caches until it expires", async () => {
  let now = 1_000;
  const clock = { now: () => now };
  const open = (): ReturnType<typeof createResultCache> =>
    createResultCache({ store: directoryStore(directory), clock, ttlMs: 100 });
  const kept = await open().cacher.store("row 1\nrow 2", { toolName: "search" });
  const args = { action: "head", id: /id "([^"]+)"/.exec(kept)?.[1], lines: 1 };
  now = 1_099;
  expect(await runTool(open().tool, args)).toMatchObject({ kind: "completed", data: "Lines 1 to 1 of 2.\nrow 1" });
  now = 1_100;
  expect(await runTool(open().tool, args)).toMatchObject({ kind: "failed" });
  await open().cacher.store("new", { toolName: "search" });
  expect((await readdir(directory)).length).toBe(1);
});
