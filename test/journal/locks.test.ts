import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { describe, expect, it, vi } from "vitest";
import { isLoopError, runToolLoop } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { runOver, stepOf } from "./file-run.ts";
import { makeFolder, readRecords } from "./folder.ts";

const locked = (pid: number = process.pid): object => ({ code: "journal-locked", details: { pid, host: hostname() } });

/** Runs a program of ours in a process of its own, up to its first word. */
async function startWriter(path: string): Promise<ReturnType<typeof spawn>> {
  const program = join(makeFolder(), "writer.mjs");
  const contents = `import { fileJournal } from "turnwright/journal";
    await fileJournal(process.argv[2]).open();
    process.stdout.write("open");
    setInterval(() => {}, 60_000);`;
  await build({ stdin: { contents, resolveDir: resolve(".") }, outfile: program, bundle: true, platform: "node", format: "esm" });
  const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

describe("two writers of one file", () => {
  it("in two processes: the second is refused, until the first is dead", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const child = await startWriter(path);
    const dead = once(child, "exit");
    const { options, ran } = runOver(path);
    const thrown: unknown = await runToolLoop(options).catch((error: unknown) => error);
    child.kill("SIGKILL");
    await dead;
    expect(thrown).toMatchObject(locked(child.pid));
    expect(String(thrown)).toContain(`If that one is gone for certain, remove ${path}.lock.`);
    expect([ran, readFileSync(path, "utf8"), existsSync(`${path}.lock`)]).toEqual([[], "", true]);
    expect((await runToolLoop(options)).text).toBe("Done.");
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it.for<[what: string, other: (folder: string, path: string) => string]>([
    ["journals of one path", (_, path) => path],
    ["paths of one file", (folder) => join(folder, ".", "..", folder.split("/").at(-1) ?? "", "run.jsonl")],
    ["links", (folder, path) => (symlinkSync(path, join(folder, "link.jsonl")), join(folder, "link.jsonl"))],
  ])("by two %s: the second is refused while the first is open", async ([, other]) => {
    const folder = makeFolder();
    const path = join(folder, "run.jsonl");
    writeFileSync(path, "");
    const close = await fileJournal(path).open();
    const second = runOver(other(folder, path)).options;
    await expect(runToolLoop(second)).rejects.toMatchObject(locked());
    await expect(runToolLoop(second)).rejects.toMatchObject(locked());
    await close();
    expect((await runToolLoop(second)).text).toBe("Done.");
  });

  it("by one journal: the second run is refused, and the first goes on", async () => {
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
        seen.push(end.status === "rejected" && isLoopError(end.reason, "journal-locked"));
    });
    const provider = createMockProvider([toolCall("save"), text("Done.")]);
    const result = await runToolLoop({ ...options, journal, provider, tools: [nosy] });
    expect([seen, result.text, readRecords(path).length]).toEqual([[true, true, true], "Done.", 8]);
  });

  it("at once: one of them has it", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const ends = await Promise.allSettled(Array.from({ length: 12 }, () => fileJournal(path).open()));
    const open = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    expect(open).toHaveLength(1);
    for (const close of open) await close();
    await (
      await fileJournal(path).open()
    )();
  });

  it("one of which lets go while the other takes hold: that one has the lock that is there, not the one that was", async () => {
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

  it("one of which only reads disturb nobody", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await runToolLoop(runOver(path).options);
    const close = await fileJournal(path).open();
    const replayed = await runToolLoop({ ...runOver(path).options, journal: replayJournal(fileJournal(path)) });
    expect(replayed.text).toBe("Done.");
    await close();
  });
});

describe("a lock that was left behind", () => {
  const own = { token: "t", pid: process.pid, host: hostname() };
  const gone = { ...own, pid: 2 ** 22 + 1 };
  const line = (claim: object): string => `\n${JSON.stringify(claim)}\n`;

  it.for<[whose: string, lock: string, isTaken: boolean]>([
    ["a process that is gone", line(gone), true],
    ["several that are gone", line(gone) + line({ ...gone, token: "u" }), true],
    ["nobody", "", true],
    ["one that died over its first word", line(own).slice(0, 9), true],
    ["one that was refused", line({ ...own, token: "x" }) + line({ withdrawn: "x" }), true],
    ["what is no claim", '\nnull\n[]\n{"pid":1}\n"x"\n{"token":1,"pid":1,"host":"h"}\n', true],
    ["a live process", line(own), false],
    ["a live process, behind one that is gone", line(gone) + line(own), false],
    ["a process that may not be asked", line({ ...own, pid: 1 }), false],
    ["a process of another machine, of which nobody knows", line({ ...gone, host: `not-${hostname()}` }), false],
  ])("by %s", async ([, lock, isTaken]) => {
    const path = join(makeFolder(), "run.jsonl");
    writeFileSync(`${path}.lock`, lock);
    const { options } = runOver(path);
    if (isTaken) expect((await runToolLoop(options)).text).toBe("Done.");
    else await expect(runToolLoop(options)).rejects.toMatchObject({ code: "journal-locked" });
    expect(existsSync(`${path}.lock`)).toBe(!isTaken);
  });

  it("by a process whose id another one has now is taken over, where that can be known", async () => {
    const path = join(makeFolder(), "run.jsonl");
    writeFileSync(`${path}.lock`, line({ ...own, start: "another-boot 1" }));
    const end = await runToolLoop(runOver(path).options).catch((error: unknown) => error);
    expect(end).toMatchObject(existsSync("/proc/self/stat") ? { text: "Done." } : locked());
  });

  it("that somebody removed, and another has taken since, is left to that one", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const close = await fileJournal(path).open();
    writeFileSync(`${path}.lock`, line(own));
    await close();
    expect(readFileSync(`${path}.lock`, "utf8")).toBe(line(own));
  });
});

it("a write that is under way is waited for before the lock is let go of", async () => {
  const path = join(makeFolder(), "run.jsonl");
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const journal = fileJournal(path, { redact: ({ answer }) => (begin(), answer) });
  const close = await journal.open();
  const written = journal.step(stepOf("a", () => 1));
  await begun;
  await close();
  expect([readRecords(path).map(({ key }) => key), await written]).toEqual([["a"], 1]);
});
