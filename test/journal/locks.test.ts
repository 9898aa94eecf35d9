import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import promises, { open as openFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import { basename, join, sep } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { isLoopError, runToolLoop } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { runOver } from "./file-run.ts";
import { makeFolder, readRecords } from "./folder.ts";
import { canUnshare, startWriter } from "./writer-process.ts";

const locked = (pid: number = process.pid): object => ({ code: "journal-locked", details: { pid, host: hostname() } });

describe("fileJournal with two writers of one file", () => {
  it('rejects the second process as "journal-locked" until the first process is dead', async () => {
    const path = join(makeFolder(), "run.jsonl");
    const writer = await startWriter();
    expect(await writer.open(path)).toBe("open");
    const { options, ran } = runOver(path);
    const thrown: unknown = await runToolLoop(options).catch((error: unknown) => error);
    await writer.kill();
    expect(thrown).toMatchObject(locked(writer.pid));
    expect(String(thrown)).toContain("Wait until it ends.");
    expect([ran, readFileSync(path, "utf8"), existsSync(`${path}.lock`)]).toEqual([[], "", true]);
    expect((await runToolLoop(options)).text).toBe("Done.");
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it("gives a dead writer's file to exactly one of three processes", async () => {
    const folder = makeFolder();
    const dead = await startWriter();
    const paths = Array.from({ length: 20 }, (_, round) => join(folder, `${round}.jsonl`));
    for (const path of paths) expect(await dead.open(path)).toBe("open");
    await dead.kill();
    const writers = await Promise.all([startWriter(), startWriter(), startWriter()]);
    for (const path of paths) {
      const ends = await Promise.all(writers.map((writer) => writer.open(path)));
      expect([path, ends.toSorted()]).toEqual([path, ["journal-locked", "journal-locked", "open"]]);
    }
    for (const writer of writers) await writer.kill();
  });

  it.skipIf(!canUnshare)(
    'rejects a writer in another PID namespace as "journal-locked", even if the first writer is dead',
    async () => {
      const path = join(makeFolder(), "run.jsonl");
      const writer = await startWriter({ isContained: true });
      expect(await writer.open(path)).toBe("open");
      const { options } = runOver(path);
      const whileAlive: unknown = await runToolLoop(options).catch((error: unknown) => error);
      await writer.kill();
      const afterDeath: unknown = await runToolLoop(options).catch((error: unknown) => error);
      for (const thrown of [whileAlive, afterDeath]) {
        expect(thrown).toMatchObject({ code: "journal-locked", details: { isVisible: false, lockPath: `${path}.lock` } });
        expect(String(thrown)).toContain(`If it has ended, or its id now belongs to another program, remove ${path}.lock.`);
      }
      rmSync(`${path}.lock`);
      expect((await runToolLoop(options)).text).toBe("Done.");
    },
  );

  it.for<[what: string, other: (folder: string, path: string) => string]>([
    ["through the same path", (_, path) => path],
    ["through a path built with `..`", (folder) => [folder, "..", basename(folder), "run.jsonl"].join(sep)],
    [
      "through a path with `..` after a linked folder",
      (folder) => {
        const elsewhere = makeFolder();
        mkdirSync(join(folder, "inner"));
        symlinkSync(join(folder, "inner"), join(elsewhere, "link"));
        return [elsewhere, "link", "..", "run.jsonl"].join(sep);
      },
    ],
    ["through a symbolic link", (folder, path) => (symlinkSync(path, join(folder, "link.jsonl")), join(folder, "link.jsonl"))],
  ])('rejects a second writer %s as "journal-locked" while the first writer is open', async ([, other]) => {
    const folder = makeFolder();
    const path = join(folder, "run.jsonl");
    writeFileSync(path, "");
    const close = await fileJournal(path).open();
    const second = runOver(other(folder, path)).options;
    const lockPath = `${realpathSync(path)}.lock`;
    for (let time = 0; time < 2; time += 1)
      await expect(runToolLoop(second)).rejects.toMatchObject({ code: "journal-locked", details: { lockPath } });
    await close();
    expect((await runToolLoop(second)).text).toBe("Done.");
  });

  it("rejects a file with hard links, in one folder or two, whichever name is used", async () => {
    const folder = makeFolder();
    for (const other of [folder, makeFolder()]) {
      const names = [join(folder, "a.jsonl"), join(other, "b.jsonl")] as const;
      writeFileSync(names[0], "");
      linkSync(...names);
      for (const name of names) {
        await expect(runToolLoop(runOver(name).options)).rejects.toMatchObject({
          code: "journal-refused",
          message: expect.stringContaining("hard links, where its lock file is not visible: remove these links"),
        });
      }
      expect([readFileSync(names[0], "utf8"), existsSync(`${names[0]}.lock`)]).toEqual(["", false]);
      rmSync(names[1]);
    }
  });

  it.for<[what: string, move: (path: string, other: string) => void]>([
    ["moved", renameSync],
    ["removed", (path) => rmSync(path)],
    ["replaced", (path, other) => (writeFileSync(other, ""), renameSync(other, path))],
  ])("rejects a run whose file is %s, and writes nothing more", async ([, move]) => {
    const folder = makeFolder();
    const path = join(folder, "a.jsonl");
    const other = join(folder, "b.jsonl");
    const { options } = runOver(path);
    const records: number[] = [];
    const save = tool("save", () => {
      records.push(readRecords(path).length);
      move(path, other);
    });
    await expect(runToolLoop({ ...options, tools: [save] })).rejects.toMatchObject({
      code: "journal-refused",
      message: expect.stringContaining("was moved or removed while the run was writing to it"),
    });
    const kept = existsSync(other) ? readRecords(other).length : undefined;
    expect([kept, existsSync(`${path}.lock`)]).toEqual([move === renameSync ? records[0] : undefined, false]);
  });

  it("rejects other runs with the same file while a run is writing to it, without ending the first run", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const { options } = runOver(path);
    const journal = fileJournal(path);
    const seen: unknown[] = [];
    const nosy = tool("save", async () => {
      const others = [
        runToolLoop({ ...options, journal, runId: "other" }),
        runToolLoop({ ...options, runId: "third", journal: replayJournal(journal) }),
        runToolLoop({ ...runOver(path).options, runId: "fourth" }),
      ];
      for (const end of await Promise.allSettled(others))
        seen.push(end.status === "rejected" && isLoopError(end.reason) ? end.reason.code : end.status);
    });
    const provider = createMockProvider([toolCall("save"), text("Done.")]);
    const result = await runToolLoop({ ...options, journal, provider, tools: [nosy] });
    // A replay needs no lock, but this one is of another run.
    expect(seen).toEqual(["already-running", "journal-mismatch", "journal-locked"]);
    expect([result.text, readRecords(path).length]).toEqual(["Done.", 8]);
  });

  it("lets exactly one of 12 simultaneous calls to open() succeed", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const ends = await Promise.allSettled(Array.from({ length: 12 }, () => fileJournal(path).open()));
    const open = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    expect(open).toHaveLength(1);
    for (const close of open) await close();
    await (
      await fileJournal(path).open()
    )();
  });

  it("claims a new lock file if the old lock file is removed during the claim", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const probe = await openFile(join(path, "..", "probe"), "a");
    await probe.close();
    const prototype: { appendFile(text: string): Promise<void> } = Object.getPrototypeOf(probe);
    const { appendFile } = prototype;
    const spy = vi.spyOn(prototype, "appendFile").mockImplementationOnce(async function (this: typeof prototype, claim: string) {
      rmSync(`${path}.lock`);
      return appendFile.call(this, claim);
    });
    const close = await fileJournal(path).open();
    spy.mockRestore();
    await expect(fileJournal(path).open()).rejects.toMatchObject(locked());
    await close();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it("does not remove the lock of a run that opens the journal while the previous run is closing it", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const held: (() => Promise<void>)[] = [];
    const tryToOpen = (): Promise<unknown> =>
      fileJournal(path)
        .open()
        .then((close) => void held.push(close))
        .catch((error: unknown) => error);
    const close = await fileJournal(path).open();
    const { rm } = promises;
    const spy = vi.spyOn(promises, "rm").mockImplementationOnce(async (...args) => {
      await tryToOpen();
      return rm(...args);
    });
    syncBuiltinESMExports();
    await close();
    spy.mockRestore();
    syncBuiltinESMExports();
    await tryToOpen();
    expect(held).toHaveLength(1);
    for (const release of held) await release();
  });

  it("lets replayJournal read the file while a writer has the file open", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await runToolLoop(runOver(path).options);
    const close = await fileJournal(path).open();
    const replayed = await runToolLoop({ ...runOver(path).options, journal: replayJournal(fileJournal(path)) });
    expect(replayed.text).toBe("Done.");
    await close();
  });
});

it("fileJournal's close() waits for an unfinished write", async () => {
  const path = join(makeFolder(), "run.jsonl");
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const journal = fileJournal(path, { redact: ({ answer }) => (begin(), answer) });
  const close = await journal.open();
  const written = journal.step("a", () => ({ n: 1 }));
  await begun;
  await close();
  expect([readRecords(path).map(({ key }) => key), await written]).toEqual([["a"], { n: 1 }]);
});
