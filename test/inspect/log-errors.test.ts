import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLoopControl, defineTool, type LoopOptions, memoryJournal, runToolLoop } from "turnwright";
import { parseRunLog, readRunLog, runLog } from "turnwright/inspect";
import type { RunLogOptions } from "../../src/inspect/log/middleware.ts";
import { makeFolder } from "../journal/folder.ts";
import { linesOf, lookUp, optionsFor, runLogged } from "./log-run.ts";
import { addWatchers } from "../add-watchers.ts";

describe("a run whose log cannot be written", () => {
  const failing: readonly (readonly [what: string, create: (folder: string) => RunLogOptions["to"], message: RegExp])[] = [
    [
      "in a folder whose path is a file",
      (folder) => (writeFileSync(join(folder, "a"), ""), join(folder, "a/run.jsonl")),
      /EEXIST|ENOTDIR/,
    ],
    ["a folder", (folder) => folder, /EISDIR/],
    [
      "a file that is not a log",
      (folder) => (writeFileSync(join(folder, "a.txt"), "hello"), join(folder, "a.txt")),
      /line 1 is not the header/,
    ],
    [
      "a JSON file that is not a log",
      (folder) => (writeFileSync(join(folder, "a.json"), '{"a":1}\n'), join(folder, "a.json")),
      /line 1 is not the header/,
    ],
    [
      "an existing file with a log of a newer version",
      (folder) => (writeFileSync(join(folder, "b"), '{"type":"log","at":1,"version":2}\n'), join(folder, "b")),
      /version 2/,
    ],
    [
      "a sink that throws",
      () => ({
        write: () => {
          throw new Error("The sink is full.");
        },
      }),
      /sink is full/,
    ],
    ["a sink that rejects", () => ({ write: () => Promise.reject(new Error("The sink is full.")) }), /sink is full/],
  ];

  it.for(failing)("completes and reports one error if the log is %s", async ([, create, message]) => {
    const folder = makeFolder();
    const to = create(folder);
    const before = typeof to === "string" && existsSync(to) && statSync(to).isFile() ? readFileSync(to, "utf8") : undefined;
    const errors: unknown[] = [];
    const result = await runLogged(optionsFor(2), { to, onError: (error) => errors.push(error) });
    expect(result.text).toBe("Done.");
    expect(errors.map(String)).toEqual([expect.stringMatching(message)]);
    if (before !== undefined && typeof to === "string") expect(readFileSync(to, "utf8")).toBe(before);
  });

  it("completes even if onError, the clock or the sink is faulty", async () => {
    const hostile: RunLogOptions[] = [
      {
        to: {
          write: () => {
            throw new Error("no");
          },
        },
        onError: () => {
          throw new Error("no");
        },
      },
      {
        to: { write: () => undefined },
        clock: {
          now: () => {
            throw new Error("no");
          },
        },
        onError: () => Promise.reject(new Error("no")) as never,
      },
    ];
    for (const how of hostile) expect((await runToolLoop(addWatchers(optionsFor(1), runLog(how)))).text).toBe("Done.");
  });

  it("completes and reports an error if another process writes to the same log", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const errors: unknown[] = [];
    const intruder = defineTool({ ...lookUp, execute: () => (writeFileSync(path, '{"type":"log"}\n', { flag: "a" }), "ok") });
    const { text: said } = await runLogged(optionsFor(2, { tools: [intruder] }), {
      to: path,
      onError: (error) => errors.push(error),
    });
    expect([said, errors.map(String)]).toEqual(["Done.", [expect.stringContaining("was changed by another writer")]]);
  });

  it("causes a process warning if there is no onError", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    await runLogged(optionsFor(0), { to: makeFolder() });
    expect(await warned).toMatchObject({ name: "RunLogWarning", message: expect.stringContaining("EISDIR") });
  });
});

describe("runLog with a sink that returns promises", () => {
  it("writes one line at a time, in order", async () => {
    const lines: string[] = [];
    let active = 0;
    const write = async (line: string): Promise<void> => {
      active += 1;
      expect(active).toBe(1);
      await Promise.resolve();
      lines.push(line);
      active -= 1;
    };
    await runLogged(optionsFor(3), { to: { write } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(parseRunLog(lines.join("")).runs[0]?.status).toBe("completed");
  });

  it("writes several runs as one log", async () => {
    const lines: string[] = [];
    const to = { write: (line: string) => lines.push(line) };
    for (const runId of ["a", "b"]) await runLogged(optionsFor(1, { runId }), { to });
    expect(linesOf(lines, "log")).toHaveLength(1);
    expect(parseRunLog(lines.join("")).runs.map(({ runId }) => runId)).toEqual(["a", "b"]);
  });
});

describe("runLog", () => {
  it.for(["stop", "kill"] as const)("writes a run's end after control.%s()", async (verb) => {
    const path = join(makeFolder(), "run.jsonl");
    const control = createLoopControl();
    const stopper = defineTool({ ...lookUp, execute: () => (control[verb](), new Promise(() => {})) });
    await runLogged(optionsFor(1, { tools: [stopper], control, timeouts: { toolCleanupMs: 0 } }), { to: path });
    expect((await readRunLog(path)).runs[0]).toMatchObject({
      status: "stopped-by-user",
      iterations: [{ calls: [{ name: "look_up" }] }],
    });
  });

  it("writes the error that rejects a run", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const inner = memoryJournal();
    const full = new Error("The disk with sk-abc12345678901 is full.");
    const journal: LoopOptions["journal"] = {
      ...inner,
      step: (key, body) => (key.endsWith("/model") ? Promise.reject(full) : inner.step(key, body)),
    };
    await expect(runLogged(optionsFor(1, { journal }), { to: path })).rejects.toThrow("is full");
    const [logged] = (await readRunLog(path)).runs;
    expect(logged?.error).toEqual({ name: "Error", message: "The disk with [redacted] is full." });
    expect(logged?.status).toBeUndefined();
  });
});
