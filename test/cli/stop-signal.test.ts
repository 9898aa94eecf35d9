import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createStopSignal } from "../../src/cli/main.ts";
import { makeCliFolder, runCommand } from "./run-command.ts";

describe("createStopSignal", () => {
  it.for(["SIGINT", "SIGTERM"])("is aborted by %s, and then removes all signal listeners", (name) => {
    const from = new EventEmitter();
    const signal = createStopSignal(from as unknown as NodeJS.Process);
    expect(signal.aborted).toBe(false);
    from.emit(name);
    expect([signal.aborted, from.listenerCount("SIGINT"), from.listenerCount("SIGTERM")]).toEqual([true, 0, 0]);
  });
});

describe("turnwright", () => {
  it.for([
    ["inspect", []],
    ["export", ["--format", "markdown"]],
  ] as const)("does not handle stop signals in the command %s", async ([command, more]) => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "run.jsonl"), '{"type":"log","at":1,"version":1}\n');
    let asked = 0;
    const stopSignal = (): AbortSignal => {
      asked += 1;
      return new AbortController().signal;
    };
    expect((await runCommand(folder, [command, "run.jsonl", ...more], { stopSignal })).exitCode).toBe(0);
    expect(asked).toBe(0);
  });
});
