import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { runOver } from "./file-run.ts";
import { makeFolder } from "./folder.ts";

async function readOwnClaim(): Promise<object> {
  const path = join(makeFolder(), "run.jsonl");
  const close = await fileJournal(path).open();
  const claim: object = JSON.parse(readFileSync(`${path}.lock`, "utf8").split("\n").at(-2) ?? "");
  await close();
  return claim;
}

const readLink = (path: string): string => (existsSync(path) ? readlinkSync(path) : "");

describe("an existing fileJournal lock file", () => {
  const line = (claim: object): string => `;\n${JSON.stringify(claim)}\n`;
  const isLinux = process.platform === "linux";
  const isOnHost = readLink("/proc/self/ns/pid") === "pid:[4026531836]" && existsSync("/etc/machine-id");
  /**
   * Returns the content of a lock file. `self` and `own` are claims of two writers in this process, and `gone` is the claim of a
   * dead process.
   */
  type Lock = (claims: { readonly self: object; readonly own: object; readonly gone: { readonly pid: number } }) => string;

  it.for<[whose: string, lock: Lock, end: "taken" | "visible" | "invisible"]>([
    ["is taken over if its process has ended", ({ gone }) => line(gone), "taken"],
    [
      "is taken over if all processes that claimed the file have ended",
      ({ gone }) => line(gone) + line({ ...gone, token: "u" }),
      "taken",
    ],
    ["is taken over if it is empty", () => "", "taken"],
    ["is taken over if its process died while writing the claim", ({ own }) => line(own).slice(0, 9), "taken"],
    ["is taken over if a full disk cut off the end of its claim", ({ own }) => line(own).slice(0, -1), "taken"],
    ["is taken over if it remains from an unsuccessful claim by this process", ({ self }) => line(self), "taken"],
    [
      "is taken over if its only claim was withdrawn",
      ({ own }) => line({ ...own, token: "x" }) + line({ withdrawn: "x" }),
      "taken",
    ],
    [
      "is taken over if none of its lines is a claim",
      () => '\nnull\n[]\n{"pid":1}\n"x"\n{"token":1,"pid":1,"host":"h"}\n',
      "taken",
    ],
    ["locks the journal if its process is alive", ({ own }) => line(own), "visible"],
    [
      "locks the journal if a live process claimed the file after a dead process",
      ({ own, gone }) => line(gone) + line(own),
      "visible",
    ],
    [
      "locks the journal if its process belongs to another user",
      ({ own }) => line({ ...own, pid: 1, start: undefined }),
      "visible",
    ],
    [
      "is taken over on Linux if its process id now belongs to another process",
      ({ own }) => line({ ...own, start: "1" }),
      isLinux ? "taken" : "visible",
    ],
    [
      "locks the journal if its process is on another machine",
      ({ gone }) => line({ ...gone, host: `not-${hostname()}` }),
      "invisible",
    ],
    [
      "locks the journal if its process is on another machine with the same name",
      ({ gone }) => line({ ...gone, boot: "b", machine: "m" }),
      "invisible",
    ],
    [
      "locks the journal if the process that wrote the file is in another container with the same host name",
      ({ gone }) => line({ ...gone, namespace: "pid:[1] time:[1]" }),
      "invisible",
    ],
    [
      "locks the journal if its process was in a container before the machine restarted",
      ({ gone }) => line({ ...gone, boot: "b", namespace: "pid:[1] " }),
      "invisible",
    ],
    [
      "is taken over outside containers if its process ran before the machine restarted",
      ({ own }) => line({ ...own, boot: "b" }),
      isOnHost ? "taken" : "invisible",
    ],
    [
      "locks the journal on Linux if it contains only the id of a live process",
      ({ gone }) => line({ token: "t", pid: gone.pid, host: hostname() }),
      isLinux ? "invisible" : "taken",
    ],
  ])("%s", async ([, lockOf, end]) => {
    const path = join(makeFolder(), "run.jsonl");
    const self = await readOwnClaim();
    const own = { ...self, token: "t", instance: "i", pid: process.pid };
    const lock = lockOf({ self, own, gone: { ...own, pid: 2 ** 22 + 1 } });
    writeFileSync(`${path}.lock`, lock);
    const { options } = runOver(path);
    if (end === "taken") expect((await runToolLoop(options)).text).toBe("Done.");
    else {
      const expected = { code: "journal-locked", details: { isVisible: end === "visible", lockPath: `${path}.lock` } };
      await expect(runToolLoop(options)).rejects.toMatchObject(expected);
      await expect(runToolLoop(options)).rejects.toMatchObject(expected);
    }
    expect(existsSync(`${path}.lock`) && readFileSync(`${path}.lock`, "utf8")).toBe(end === "taken" ? false : lock);
  });

  it("is not removed by close() if another writer has replaced the lock file", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const close = await fileJournal(path).open();
    const lock = line({ token: "t", pid: process.pid, host: hostname() });
    writeFileSync(`${path}.lock`, lock);
    await close();
    expect(readFileSync(`${path}.lock`, "utf8")).toBe(lock);
  });
});
