import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLogs } from "../../src/cli/log-files.ts";
import { makeCliFolder } from "./run-command.ts";

const header = '{"type":"log","at":1,"version":1}\n';

describe("findLogs", () => {
  it("returns a known log without reading the file again", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "a.jsonl"), header);
    const { logs } = await findLogs(["."], { cwd: folder });
    const known = new Map(logs.map((log) => [log.path, log]));
    writeFileSync(join(folder, "a.jsonl"), "another file");
    writeFileSync(join(folder, "b.jsonl"), header);
    const again = await findLogs(["."], { cwd: folder, known });
    expect([again.logs.map(({ name }) => name), again.skipped]).toEqual([["a.jsonl", "b.jsonl"], []]);
    expect((await findLogs(["a.jsonl"], { cwd: folder, known })).logs).toEqual(logs);
  });

  it("identifies logs with the same name by their paths relative to the working directory", async () => {
    const folder = makeCliFolder();
    for (const inner of ["one", "two"]) {
      mkdirSync(join(folder, inner));
      writeFileSync(join(folder, inner, "run.jsonl"), header);
    }
    const { logs } = await findLogs(["one/run.jsonl", "two/run.jsonl"], { cwd: folder });
    expect(logs.map(({ name }) => name)).toEqual(["run.jsonl", join("two", "run.jsonl")]);
  });

  it.for<readonly [what: string, isThere: boolean]>([
    ["does not exist yet", false],
    ["is still empty", true],
  ])("accepts a file that %s only with the `areAwaited: true` option", async ([, isThere]) => {
    const cwd = makeCliFolder();
    if (isThere) writeFileSync(join(cwd, "run.jsonl"), "");
    const { logs } = await findLogs(["run.jsonl"], { cwd, areAwaited: true });
    expect(logs).toEqual([{ path: join(cwd, "run.jsonl"), name: "run.jsonl", kind: "log" }]);
    await expect(findLogs(["run.jsonl"], { cwd })).rejects.toThrow(
      isThere ? "is neither a run log" : "There is no file run.jsonl",
    );
  });

  it("rejects a missing folder even with the `areAwaited: true` option", async () => {
    const finding = findLogs(["runs"], { cwd: makeCliFolder(), areAwaited: true });
    await expect(finding).rejects.toThrow("There is no folder runs. Create it first, or pass the path to a log.");
  });
});
