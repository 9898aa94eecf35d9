import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLogs } from "../../src/cli/log-files.ts";
import { makeCliFolder } from "./run-command.ts";

const header = '{"type":"log","at":1,"version":1}\n';

describe("findLogs", () => {
  it("does not read the files again that are known", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "a.jsonl"), header);
    const { logs } = await findLogs(["."], folder);
    const known = new Map(logs.map((log) => [log.path, log]));
    writeFileSync(join(folder, "a.jsonl"), "another file");
    writeFileSync(join(folder, "b.jsonl"), header);
    const again = await findLogs(["."], folder, known);
    expect([again.logs.map(({ name }) => name), again.skipped]).toEqual([["a.jsonl", "b.jsonl"], []]);
    expect((await findLogs(["a.jsonl"], folder, known)).logs).toEqual(logs);
  });

  it("names logs with the same name by their paths from the working directory", async () => {
    const folder = makeCliFolder();
    for (const inner of ["one", "two"]) {
      mkdirSync(join(folder, inner));
      writeFileSync(join(folder, inner, "run.jsonl"), header);
    }
    const { logs } = await findLogs(["one/run.jsonl", "two/run.jsonl"], folder);
    expect(logs.map(({ name }) => name)).toEqual(["run.jsonl", join("two", "run.jsonl")]);
  });
});
