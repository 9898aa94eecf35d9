import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  openSync,
  closeSync,
  ftruncateSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createResultCache, fileSource } from "turnwright/cache";
import type { FileSourceOptions } from "../../src/cache/file-source.ts";
import { makeFolder } from "../journal/folder.ts";
import { readFrom, readPart } from "./read-stage.ts";

const missing = 'failed: There is no such file or folder below "data". Read "data" to list the files.';

interface Data {
  readonly outside: string;
  readonly root: string;
  readonly read: (args: object) => Promise<string>;
}

/** Creates a folder "data" with two files and a folder, next to a file "secret" that must not be read. */
function createData(options: FileSourceOptions = {}): Data {
  const outside = makeFolder();
  const root = join(outside, "data");
  mkdirSync(join(root, "logs"), { recursive: true });
  writeFileSync(join(outside, "secret"), "secret");
  writeFileSync(join(root, "app.log"), Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n"));
  writeFileSync(join(root, "logs", "ships.json"), JSON.stringify([{ name: "Fram" }, { name: "Gjøa" }]));
  return { outside, root, read: readFrom(fileSource(root, options)) };
}

describe("fileSource: read_part", () => {
  it.for<[args: object, answer: string]>([
    [{ action: "read", start_line: 99 }, "Lines 99 to 100 of 100.\nline 99\nline 100"],
    [{ action: "head", lines: 1 }, "Lines 1 to 1 of 100.\nline 1"],
    [{ action: "tail", lines: 1 }, "Lines 100 to 100 of 100.\nline 100"],
    [{ action: "grep", pattern: "5$", start_line: 80 }, "2 matching lines in lines 80 to 100 of 100.\n85: line 85\n95: line 95"],
    [{ action: "stats" }, "Lines: 100. Bytes: 791. Tokens: about 198."],
    [{ action: "read", start_line: 101 }, "The text has 100 lines, so there are no lines from 101 on."],
    [{ action: "json", path: "$" }, expect.stringContaining("The text is not JSON") as never],
  ])("returns the expected lines for the arguments %j", async ([args, answer]) => {
    expect(await createData().read({ id: "data/app.log", ...args })).toEqual(answer);
  });

  it("selects values from a JSON file", async () => {
    const { read } = createData();
    expect(await read({ id: "data/logs/ships.json", action: "json", path: "$[?@.name != 'Fram'].name" })).toBe(
      'Matches 1 to 1 of 1.\n$[1].name: "Gjøa"',
    );
  });

  it("lists the entries of the root and of a folder", async () => {
    const { read } = createData();
    expect(await read({ id: "data", action: "read" })).toBe("Lines 1 to 2 of 2.\ndata/app.log\ndata/logs/");
    expect(await read({ id: "data/logs/", action: "read" })).toBe("Lines 1 to 1 of 1.\ndata/logs/ships.json");
    expect(await read({ id: "data/logs", action: "grep", pattern: "json" })).toContain("1: data/logs/ships.json");
  });

  it("lists at most 10,000 entries, one per line", async () => {
    const { root, read } = createData();
    writeFileSync(join(root, "two\nlines"), "");
    expect(await read({ id: "data", action: "read" })).toContain("data/two?lines");
    for (let index = 0; index < 10_000; index += 1) writeFileSync(join(root, "logs", String(index)), "");
    expect(await read({ id: "data/logs", action: "tail", lines: 1 })).toBe(
      "Lines 10001 to 10001 of 10001.\n(The folder has more than 10000 entries.)",
    );
  });

  it("reads an empty file and lists an empty folder", async () => {
    const { root, read } = createData();
    writeFileSync(join(root, "empty"), "");
    mkdirSync(join(root, "void"));
    expect(await read({ id: "data/empty", action: "read" })).toBe("Lines 1 to 1 of 1.\n");
    expect(await read({ id: "data/void", action: "read" })).toContain("(The folder is empty.)");
  });

  it("reads the new lines after a file has changed", async () => {
    const { root, read } = createData();
    await read({ id: "data/app.log", action: "stats" });
    appendFileSync(join(root, "app.log"), "\nlast");
    expect(await read({ id: "data/app.log", action: "tail", lines: 1 })).toBe("Lines 101 to 101 of 101.\nlast");
  });

  it("states the prefix of file ids in the tool's description", () => {
    const { tool } = createResultCache({ sources: [fileSource("/data")] });
    expect(tool.description).toContain('files, whose ids are paths that begin with "data/"');
  });

  it("reads a stored result and the files of two folders with different names", async () => {
    const { root } = createData();
    const sources = [fileSource(root), fileSource(join(root, "logs"), { name: "more" })];
    const cache = createResultCache({ sources });
    const kept = await cache.cacher.store("stored", { toolName: "t" });
    const id = /id "([^"]+)"/.exec(kept)?.[1];
    expect(await readPart(cache, { id, action: "read" })).toContain("stored");
    expect(await readPart(cache, { id: "more/ships.json", action: "read" })).toContain("Fram");
    expect(await readPart(cache, { id: "data/logs/ships.json", action: "read" })).toContain("Fram");
    expect(await readPart(cache, { id: "else/x", action: "read" })).toMatch(
      /^failed: There is no stored result with this id, .* Other texts: files, whose ids are paths that begin with "data\/"/,
    );
  });
});

describe("fileSource", () => {
  it.for<[id: string]>([
    ["data/../secret"],
    ["data/.."],
    ["data/logs/../../secret"],
    ["data/./app.log"],
    ["data//app.log"],
    ["data//etc/passwd"],
    ["data/app.log/x"],
    ["data/app.log\0.txt"],
    ["data/%2e%2e/secret"],
    ["data/..\\secret"],
    ["data/__proto__"],
    [`data/${"x".repeat(100)}`],
  ])("reports that no file exists for the id %j", async ([id]) => {
    expect(await createData().read({ id, action: "read" })).toBe(missing);
  });

  it.for<[id: string]>([["/etc/passwd"], ["../secret"], ["secret"], ["file:///etc/passwd"], ["DATA/app.log"], ["data2/x"], [""]])(
    'reports that no stored result exists for the id %j, which does not begin with "data/"',
    async ([id]) => {
      expect(await createData().read({ id, action: "read" })).toMatch(/^failed: There is no stored result with this id/);
    },
  );

  it("does not read files outside the root through links to files or folders", async () => {
    const { outside, root, read } = createData();
    symlinkSync(join(outside, "secret"), join(root, "link"));
    symlinkSync(outside, join(root, "folder"));
    symlinkSync("../secret", join(root, "relative"));
    symlinkSync("/dev/zero", join(root, "zero"));
    symlinkSync("loop", join(root, "loop"));
    for (const id of ["data/link", "data/folder/secret", "data/folder", "data/relative", "data/zero"]) {
      expect(await read({ id, action: "read" })).toBe(missing);
    }
    expect(await read({ id: "data/loop", action: "read" })).toBe("failed: This file cannot be read (ELOOP). Read another file.");
  });

  it("does not read files outside the root if a folder is replaced by a link during the call", async () => {
    const outside = makeFolder();
    const root = join(outside, "data");
    mkdirSync(join(root, "logs"), { recursive: true });
    mkdirSync(join(outside, "private"));
    writeFileSync(join(outside, "private", "a"), "secret");
    writeFileSync(join(root, "logs", "a"), "public");
    let calls = 0;
    const accepts = (path: string): boolean => {
      // The source calls `accepts` twice. The second call comes after the check of the links.
      if (path === "logs/a" && (calls += 1) === 2) {
        renameSync(join(root, "logs"), join(root, "old"));
        symlinkSync(join(outside, "private"), join(root, "logs"));
      }
      return true;
    };
    const read = readFrom(fileSource(root, { accepts }));
    expect(await read({ id: "data/logs/a", action: "read" })).toBe("failed: This file has just been replaced. Repeat the call.");
    expect(calls).toBe(2);
  });

  it("follows links that stay inside the root", async () => {
    const { root, read } = createData();
    symlinkSync("../app.log", join(root, "logs", "link"));
    linkSync(join(root, "app.log"), join(root, "hard"));
    expect(await read({ id: "data/logs/link", action: "head", lines: 1 })).toContain("line 1");
    expect(await read({ id: "data/hard", action: "head", lines: 1 })).toContain("line 1");
  });
});

describe("fileSource", () => {
  it("rejects a pipe and a device without blocking the call", async () => {
    const { root, read } = createData();
    execFileSync("mkfifo", [join(root, "pipe")]);
    const refused = "failed: This is neither a file nor a folder. Read another file.";
    expect(await read({ id: "data/pipe", action: "read" })).toBe(refused);
    expect(await readFrom(fileSource("/dev"))({ id: "dev/zero", action: "read" })).toBe(refused);
  });

  it("rejects a binary file", async () => {
    const { root, read } = createData();
    writeFileSync(join(root, "picture"), Buffer.from([0x89, 0x50, 0, 1]));
    expect(await read({ id: "data/picture", action: "read" })).toBe("failed: This file is binary, so it cannot be read as text.");
  });

  it("rejects a file that is larger than maxBytes", async () => {
    const { read } = createData({ maxBytes: 100 });
    expect(await read({ id: "data/app.log", action: "head" })).toBe(
      "failed: The file has 791 bytes. Only files of at most 100 bytes are read.",
    );
    expect(await read({ id: "data/logs/ships.json", action: "head" })).toContain("Fram");
  });

  it('refers to a deleted root folder as "data" in the error, and does not show the folder\'s path', async () => {
    const { root, read } = createData();
    rmSync(root, { recursive: true });
    expect(await read({ id: "data/app.log", action: "read" })).toMatch(/^failed: The folder "data" does not exist\. [^/]*$/);
  });

  it("rejects files that `accepts` excludes, files in excluded folders, and links to them", async () => {
    const { root, read } = createData({ accepts: (path) => !path.split("/").some((part) => part.startsWith(".")) });
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, ".git", "config"), "token");
    writeFileSync(join(root, ".env"), "token");
    symlinkSync(".env", join(root, "environment"));
    symlinkSync(".git", join(root, "history"));
    for (const id of ["data/.env", "data/.git", "data/.git/config", "data/environment", "data/history/config"]) {
      expect(await read({ id, action: "read" })).toBe(missing);
    }
    expect(await read({ id: "data", action: "grep", pattern: "^data/\\." })).toMatch(/^0 matching lines/);
  });
});

describe("fileSource: a large file", () => {
  function createLargeFile(bytes: number): string {
    const root = join(makeFolder(), "large");
    mkdirSync(root);
    const file = openSync(join(root, "log"), "w");
    const start = Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}`).join("\n");
    writeSync(file, `${start}\n`);
    ftruncateSync(file, bytes);
    writeSync(file, "\nlast line", bytes - 10);
    closeSync(file);
    return root;
  }

  it("searches the beginning of a 1 GB file without reading the rest", async () => {
    const read = readFrom(fileSource(createLargeFile(1e9)));
    const before = process.cpuUsage();
    expect(await read({ id: "large/log", action: "head", lines: 2 })).toMatch(/^Lines 1 to 2 of at least \d+\.\nline 1\nline 2$/);
    expect(await read({ id: "large/log", action: "read", start_line: 4_999, end_line: 5_000 })).toMatch(/line 4999\nline 5000$/);
    const found = await read({ id: "large/log", action: "grep", pattern: "line 500$" });
    expect(found).toMatch(/^1 matching line in lines 1 to \d+ of at least \d+\. There may be more matches/);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000_000).toBeLessThan(3);
    expect(await read({ id: "large/log", action: "json", path: "$" })).toBe(
      'failed: The text has 1000000000 bytes, but the action "json" reads at most 8388608. Use the actions "grep" and "read" to find the part that you need.',
    );
  });

  it("reads the end of a 400 MB file with less than 150 MB of memory", async () => {
    const read = readFrom(fileSource(createLargeFile(400e6)));
    let peak = 0;
    const before = process.memoryUsage().rss;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    try {
      expect(await read({ id: "large/log", action: "tail", lines: 1 })).toMatch(/^Lines (\d+) to \1 of \1\.\nlast line$/);
    } finally {
      clearInterval(timer);
    }
    expect((peak - before) / 1e6).toBeLessThan(150);
  });
});

it.for<[option: string, make: () => unknown]>([
  ["root", () => fileSource("")],
  ["name", () => fileSource("/")],
  ["name", () => fileSource("/data", { name: "a/b" })],
  ["name", () => fileSource("/data", { name: ".." })],
  ["maxBytes", () => fileSource("/data", { maxBytes: 0 })],
  ["accepts", () => fileSource("/data", { accepts: /x/ as never })],
  ["sources", () => createResultCache({ sources: [fileSource("/a/data"), fileSource("/b/data")] })],
  ["sources", () => createResultCache({ sources: [{ name: "x" }] as never })],
])('fileSource and createResultCache: reject the invalid option "%s"', ([option, make]) => {
  expect(make).toThrow(expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option }) }));
});
