// Journals, cassettes and run logs contain the conversation. Other users must not be able to read them or redirect them to another
// file.

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lchownSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { runLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, recordTo, text } from "turnwright/testing";
import { makeFolder } from "./folder.ts";

const hasUsers = process.platform !== "win32";
const isRoot = process.geteuid?.() === 0;

const options = { messages: [{ role: "user", content: "Go." }], runId: "r" } as const;
const answer = createMockProvider(() => text("Done."));

const writers: readonly (readonly [name: string, write: (path: string) => Promise<unknown>])[] = [
  ["fileJournal", (path) => runToolLoop({ ...options, provider: answer, journal: fileJournal(path, { fsync: false }) })],
  ["recordTo", async (path) => runToolLoop({ ...options, provider: recordTo(path, answer) })],
  ["runLog", writeLog],
];

/** Runs with a log, and rejects with the error of the log. */
async function writeLog(path: string): Promise<void> {
  const errors: unknown[] = [];
  await runToolLoop({ ...options, provider: answer, middleware: [runLog({ to: path, onError: (error) => errors.push(error) })] });
  for (const error of errors) throw error;
}

describe.skipIf(!hasUsers).for(writers)("%s", ([, write]) => {
  it.for(["644", "666", "640", "604"])("removes other users' access to a file with mode %s", async (mode) => {
    const path = join(makeFolder(), "a.jsonl");
    writeFileSync(path, "");
    chmodSync(path, mode);
    await write(path);
    expect([statSync(path).mode & 0o777, readFileSync(path, "utf8") === ""]).toEqual([0o600, false]);
  });

  it("follows links that belong to the user, even to a file that does not exist yet", async () => {
    const folder = makeFolder();
    symlinkSync("second", join(folder, "first"));
    symlinkSync("a.jsonl", join(folder, "second"));
    await write(join(folder, "first"));
    expect(statSync(join(folder, "a.jsonl")).mode & 0o777).toBe(0o600);
  });

  it.skipIf(!isRoot).for(["first", "second"])(
    "rejects a chain of two links if the %s link belongs to another user, and writes nothing",
    async (foreign) => {
      const folder = makeFolder();
      const target = join(folder, "target");
      writeFileSync(target, "");
      symlinkSync("second", join(folder, "first"));
      symlinkSync("target", join(folder, "second"));
      lchownSync(join(folder, foreign), 4_711, 4_711);
      const link = join(folder, foreign);
      await expect(write(join(folder, "first"))).rejects.toThrow(
        new RegExp(`${link} is a (symbolic )?link that belongs to another user`),
      );
      expect(readFileSync(target, "utf8")).toBe("");
    },
  );

  it("creates a missing folder for the owner only", async () => {
    const folder = join(makeFolder(), "deep", "runs");
    await write(join(folder, "a.jsonl"));
    expect([statSync(folder).mode & 0o777, existsSync(join(folder, "a.jsonl"))]).toEqual([0o700, true]);
  });

  it("rejects a file with other hard links, and leaves the file unchanged", async () => {
    const folder = makeFolder();
    const path = join(folder, "a.jsonl");
    writeFileSync(join(folder, "other"), "");
    linkSync(join(folder, "other"), path);
    await expect(write(path)).rejects.toThrow("has other hard links");
    expect(readFileSync(path, "utf8")).toBe("");
  });

  it("rejects a pipe immediately", async () => {
    const path = join(makeFolder(), "pipe");
    execFileSync("mkfifo", [path]);
    await expect(write(path)).rejects.toThrow(/not a (plain|regular) file|ENXIO/);
  });
});

describe.skipIf(!hasUsers)("fileJournal", () => {
  it("creates a missing folder for the owner only, and leaves the mode of other folders unchanged", async () => {
    const folder = makeFolder();
    chmodSync(folder, 0o755);
    const path = join(folder, "deep", "runs", "a.jsonl");
    await runToolLoop({ ...options, provider: answer, journal: fileJournal(path, { fsync: false }) });
    const modes = [folder, join(folder, "deep"), join(folder, "deep", "runs"), path].map((one) => statSync(one).mode & 0o777);
    expect(modes).toEqual([0o755, 0o700, 0o700, 0o600]);
  });

  it.for<[what: string, plant: (target: string, lock: string) => void]>([
    ["a symbolic link", symlinkSync],
    ["a hard link", linkSync],
    ["a pipe", (_, lock) => void execFileSync("mkfifo", [lock])],
  ])("rejects %s in place of the lock file, and writes nothing", async ([, plant]) => {
    const folder = makeFolder();
    const path = join(folder, "a.jsonl");
    const target = join(folder, "target");
    writeFileSync(target, "as it was");
    plant(target, `${path}.lock`);
    const run = runToolLoop({ ...options, provider: answer, journal: fileJournal(path) });
    await expect(run).rejects.toMatchObject({
      code: "journal-refused",
      message: `The file ${path} cannot be used as a journal: its lock file ${path}.lock is not a regular file, or has hard links. Remove the lock file.`,
    });
    expect([readFileSync(target, "utf8"), readFileSync(path, "utf8"), existsSync(`${path}.lock`)]).toEqual([
      "as it was",
      "",
      true,
    ]);
  });
});
