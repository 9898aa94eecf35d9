import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { runOver } from "./file-run.ts";
import { makeFolder } from "./folder.ts";

/** A claim as a process like this one makes it. */
async function readOwnClaim(): Promise<object> {
  const path = join(makeFolder(), "run.jsonl");
  const close = await fileJournal(path).open();
  const claim: object = JSON.parse(readFileSync(`${path}.lock`, "utf8").split("\n").at(-2) ?? "");
  await close();
  return claim;
}

const readLink = (path: string): string => (existsSync(path) ? readlinkSync(path) : "");

describe("a lock that was left behind", () => {
  const line = (claim: object): string => `;\n${JSON.stringify(claim)}\n`;
  const isLinux = process.platform === "linux";
  const isOnHost = readLink("/proc/self/ns/pid") === "pid:[4026531836]" && existsSync("/etc/machine-id");
  /** `own` is a claim of another writer in this process, and `gone` one of a dead process. */
  type Lock = (claims: { readonly self: object; readonly own: object; readonly gone: { readonly pid: number } }) => string;

  it.for<[whose: string, lock: Lock, end: "taken" | "visible" | "invisible"]>([
    ["a process that is gone", ({ gone }) => line(gone), "taken"],
    ["several that are gone", ({ gone }) => line(gone) + line({ ...gone, token: "u" }), "taken"],
    ["nobody", () => "", "taken"],
    ["one that died over its first word", ({ own }) => line(own).slice(0, 9), "taken"],
    ["one whose claim a full disk cut off before its end", ({ own }) => line(own).slice(0, -1), "taken"],
    ["one of this process that never got it", ({ self }) => line(self), "taken"],
    ["one that was refused", ({ own }) => line({ ...own, token: "x" }) + line({ withdrawn: "x" }), "taken"],
    ["what is no claim", () => '\nnull\n[]\n{"pid":1}\n"x"\n{"token":1,"pid":1,"host":"h"}\n', "taken"],
    ["a live process", ({ own }) => line(own), "visible"],
    ["a live process, after one that is gone", ({ own, gone }) => line(gone) + line(own), "visible"],
    ["a process of another user", ({ own }) => line({ ...own, pid: 1, start: undefined }), "visible"],
    ["a process whose id another one has now", ({ own }) => line({ ...own, start: "1" }), isLinux ? "taken" : "visible"],
    ["a process of another machine", ({ gone }) => line({ ...gone, host: `not-${hostname()}` }), "invisible"],
    ["a process of another machine of the same name", ({ gone }) => line({ ...gone, boot: "b", machine: "m" }), "invisible"],
    [
      "a process of another container of the same name",
      ({ gone }) => line({ ...gone, namespace: "pid:[1] time:[1]" }),
      "invisible",
    ],
    [
      "a container before a restart of the machine",
      ({ gone }) => line({ ...gone, boot: "b", namespace: "pid:[1] " }),
      "invisible",
    ],
    ["a process before a restart of the machine", ({ own }) => line({ ...own, boot: "b" }), isOnHost ? "taken" : "invisible"],
    [
      "a process of which only its id is known",
      ({ gone }) => line({ token: "t", pid: gone.pid, host: hostname() }),
      isLinux ? "invisible" : "taken",
    ],
  ])("by %s", async ([, lockOf, end]) => {
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

  it("that somebody removed, and another has taken since, is left to that one", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const close = await fileJournal(path).open();
    const lock = line({ token: "t", pid: process.pid, host: hostname() });
    writeFileSync(`${path}.lock`, lock);
    await close();
    expect(readFileSync(`${path}.lock`, "utf8")).toBe(lock);
  });
});
