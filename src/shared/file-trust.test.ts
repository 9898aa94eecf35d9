import { expect, it } from "vitest";
import { openOwnFile } from "./file-trust.ts";

/** Opens a loose file on a file system that has no modes. */
function open(uid: number): readonly [result: unknown, closed: readonly number[]] {
  const closed: number[] = [];
  const facts = { mode: 0o777, uid, nlink: 1, size: 0, isFile: () => true, isSymbolicLink: () => false };
  const fs = {
    constants: { O_CREAT: 64 },
    lstatSync: () => undefined,
    readlinkSync: () => "",
    dirname: () => "/media",
    resolve: () => "",
    mkdirSync: () => undefined,
    openSync: () => 7,
    fstatSync: () => facts,
    fchmodSync(): never {
      throw new Error("EPERM");
    },
    closeSync: (file: number) => void closed.push(file),
  };
  try {
    return [openOwnFile("/media/log.jsonl", 1, { fs, refuse: (problem) => new Error(problem) }), closed];
  } catch (error) {
    return [error instanceof Error ? error.message : error, closed];
  }
}

it("openOwnFile: on a file system without modes, opens only the user's own file", () => {
  const own = process.geteuid?.() ?? 0;
  expect(open(own)).toEqual([7, []]);
  const refused = "it belongs to another user, and other users can read it. Use a file that you own";
  expect(open(own + 1)).toEqual(process.platform === "win32" ? [7, []] : [refused, [7]]);
});
