import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createStopSignal, startSelf } from "../../src/cli/process-io.ts";
import { makeCliFolder, runCommand } from "./run-command.ts";

describe("createStopSignal", () => {
  it.for(["SIGINT", "SIGTERM"])("aborts its signal on %s, and then removes all signal listeners", (name) => {
    const from = new EventEmitter();
    const signal = createStopSignal(from as unknown as NodeJS.Process);
    expect(signal.aborted).toBe(false);
    from.emit(name);
    expect([signal.aborted, from.listenerCount("SIGINT"), from.listenerCount("SIGTERM")]).toEqual([true, 0, 0]);
  });
});

describe("startSelf", () => {
  const start = async (signal: AbortSignal) => {
    const folder = makeCliFolder();
    const program = join(folder, "program.mjs");
    const said = "process.argv.slice(2).join() + process.cwd().includes('turnwright-cli') + process.env.KEY";
    writeFileSync(
      program,
      `console.log("ignored"); console.error("first\\n" + ${said});
if (process.argv[2] === "wait") setInterval(() => {}, 1_000); else process.exitCode = 3;`,
    );
    const notes: string[] = [];
    const note = (line: string): void => void notes.push(line);
    const from = { argv: ["node", program], execPath: process.execPath, execArgv: [] };
    const exitCode = await startSelf(
      [signal.aborted ? "wait" : "go", "--x"],
      { cwd: folder, env: { KEY: "yes" }, note, signal },
      from,
    );
    return { exitCode, notes };
  };

  it("returns the started process's exit code, and passes on its error output", async () => {
    expect(await start(new AbortController().signal)).toEqual({ exitCode: 3, notes: ["first", "go,--xtrueyes"] });
  });

  it("ends the started process when the signal is aborted", async () => {
    expect(await start(AbortSignal.abort())).toEqual({ exitCode: 1, notes: [] });
  });
});

describe("turnwright", () => {
  it.for([
    ["inspect", []],
    ["export", ["--format", "markdown"]],
  ] as const)("does not handle stop signals in the %s command", async ([command, more]) => {
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
