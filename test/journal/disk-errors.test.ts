import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createLoopControl, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { runOver, untouched } from "./file-run.ts";
import { makeFolder, readRecords } from "./folder.ts";

/**
 * Makes the write with the number `at` fail halfway, as on a full disk. The first write has the number 1. The returned function
 * restores the disk and returns the number of writes.
 */
async function fillDisk(folder: string, at: number): Promise<() => number> {
  const probe = await openFile(join(folder, "probe"), "a");
  await probe.close();
  const prototype: { appendFile(text: string): Promise<void> } = Object.getPrototypeOf(probe);
  const { appendFile } = prototype;
  let writes = 0;
  const full = vi.spyOn(prototype, "appendFile").mockImplementation(async function (this: typeof prototype, text: string) {
    if (!text.startsWith('{"')) return appendFile.call(this, text);
    writes += 1;
    if (writes < at) return appendFile.call(this, text);
    await appendFile.call(this, text.slice(0, -9));
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  });
  return () => {
    full.mockRestore();
    return writes;
  };
}

it.for<[what: string, path: string, code: string]>([
  ["its folder cannot be created", "file/none/run.jsonl", "ENOTDIR"],
  ["its path is a folder", ".", "EISDIR"],
  ["its folder is a file", "file/run.jsonl", "ENOTDIR"],
  ["its path is a link to itself", "loop", "ELOOP"],
  ["its lock path is a folder", "taken", "EISDIR"],
])("fileJournal rejects the run with the file system's error if %s", async ([, name, code]) => {
  const folder = makeFolder();
  symlinkSync("loop", join(folder, "loop"));
  mkdirSync(join(folder, "taken.lock"));
  writeFileSync(join(folder, "file"), "");
  const { options, ran } = runOver(join(folder, name));
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const control = createLoopControl();
    await expect(runToolLoop({ ...options, control })).rejects.toMatchObject({ code });
    expect(control.stop()).toBe("finished");
  }
  expect([ran, existsSync(`${join(folder, name)}.lock`)]).toEqual([[], name === "taken"]);
});

it.for([1, 2, 3, 4, 5, 6, 7, 8])(
  "fileJournal rejects a run if the disk is full at write %d, and resumes the run later",
  async (at) => {
    const folder = makeFolder();
    const path = join(folder, "run.jsonl");
    const endOfDisk = await fillDisk(folder, at);
    const first = runOver(path);
    await expect(runToolLoop(first.options)).rejects.toMatchObject({ code: "ENOSPC" });
    expect([endOfDisk(), existsSync(`${path}.lock`)]).toEqual([at, false]);
    const torn: number[] = [];
    const second = runOver(path, { onTornLine: ({ bytes }) => void torn.push(bytes) });
    const result = await runToolLoop(second.options);
    expect([result.text, torn.length]).toEqual(["Done.", 1]);
    const ran = [...first.ran, ...second.ran].map((args) => JSON.stringify(args));
    expect(ran).toEqual([...new Set(ran)]);
    expect(readRecords(path)).toHaveLength(10);
  },
);

it("fileJournal rejects and does not run any step after a failed write", async () => {
  const folder = makeFolder();
  const endOfDisk = await fillDisk(folder, 2);
  const journal = fileJournal(join(folder, "run.jsonl"));
  const close = await journal.open();
  const ran: string[] = [];
  const step = async (key: string): Promise<unknown> => journal.step(key, () => (ran.push(key), { key }));
  expect(await step("a")).toEqual({ key: "a" });
  const ends = await Promise.allSettled([step("b"), step("c")]);
  await expect(step("d")).rejects.toMatchObject({ code: "ENOSPC" });
  expect([ends.map(({ status }) => status), ran]).toEqual([
    ["rejected", "rejected"],
    ["a", "b", "c"],
  ]);
  expect(journal.step("a", untouched)).toEqual({ key: "a" });
  await close();
  expect(endOfDisk()).toBe(2);
});

it("fileJournal leaves an incomplete last line in the file if onTornLine throws", async () => {
  const folder = makeFolder();
  const path = join(folder, "run.jsonl");
  const endOfDisk = await fillDisk(folder, 3);
  await expect(runToolLoop(runOver(path).options)).rejects.toMatchObject({ code: "ENOSPC" });
  endOfDisk();
  const bytes = readFileSync(path);
  const onTornLine = (): never => {
    throw new Error("look at it first");
  };
  await expect(runToolLoop(runOver(path, { onTornLine }).options)).rejects.toThrow("look at it first");
  expect([readFileSync(path).equals(bytes), existsSync(`${path}.lock`)]).toEqual([true, false]);
});
