import { chmodSync, copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defineAgentTool, defineTool, type LoopOptions, memoryJournal } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { readRunLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { makeFolder } from "../journal/folder.ts";
import { clock, linesOf, long, lookUp, optionsFor, readLines, runLogged } from "./log-run.ts";

function isJson(line: string): boolean {
  try {
    return JSON.parse(line) !== undefined;
  } catch {
    return false;
  }
}

describe("a run log in a file", () => {
  it("can be read only by its owner", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await runLogged(optionsFor(1), { to: path });
    const lines = readLines(path);
    expect(lines[0]).toBe('{"type":"log","at":1700000000000,"version":1}');
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ type: "run-end", status: "completed" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("becomes private if other users had access to the existing file", async () => {
    const path = join(makeFolder(), "run.jsonl");
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    await runLogged(optionsFor(0), { to: path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("contains several runs that share long strings", async () => {
    const path = join(makeFolder(), "runs.jsonl");
    await runLogged(optionsFor(1, { runId: "a" }), { to: path });
    const size = statSync(path).size;
    await runLogged(optionsFor(1, { runId: "b" }), { to: path });
    expect(readFileSync(path, "utf8").split(long).length - 1).toBe(1);
    expect(statSync(path).size - size).toBeLessThan(size - long.length);
    const { runs } = await readRunLog(path);
    expect(runs.map(({ runId, iterations }) => [runId, iterations[0]?.calls[0]?.result])).toEqual([
      ["a", long],
      ["b", long],
    ]);
  });

  it("contains several runs that are live at the same time", async () => {
    const path = join(makeFolder(), "runs.jsonl");
    const ids = ["a", "b", "c"];
    await Promise.all(ids.map((runId) => runLogged(optionsFor(2, { runId }), { to: path })));
    const { runs } = await readRunLog(path);
    expect(runs.map(({ runId, status, iterations }) => [runId, status, iterations.length])).toEqual(
      ids.map((id) => [id, "completed", 3]),
    );
  });

  it("contains the same lines whether or not the process wrote the start of the log", async () => {
    const folder = makeFolder();
    const [one, other] = [join(folder, "one.jsonl"), join(folder, "other.jsonl")];
    const hostile = defineTool({
      ...lookUp,
      execute: () => ({ "@": { "=": [1, long], "~": long }, 5: { "@": 0 }, ["__proto__"]: { "~": 1 } }),
    });
    const options = optionsFor(3, { tools: [hostile] });
    const { journal } = await runLogged({ ...options, limits: { maxIterations: 2 } }, { to: one });
    const saved = JSON.stringify(journal);
    copyFileSync(one, other);
    // This process still knows the state of the first file. For the copy, it must read the file instead.
    for (const to of [one, other]) await runLogged({ ...options, journal: memoryJournal(JSON.parse(saved)) }, { to });
    const withoutDurations = (path: string): string => readFileSync(path, "utf8").replace(/"durationMs":[\d.]+/g, "");
    expect(withoutDurations(other)).toBe(withoutDurations(one));
    expect((await readRunLog(other)).runs[0]?.iterations).toHaveLength(4);
  });
});

describe("the run log for a resumed run", () => {
  it("contains each step once", async () => {
    const folder = makeFolder();
    const to = join(folder, "run.jsonl");
    const inner = createMockProvider(({ iteration }) => (iteration === 0 ? toolCall("look_up") : text("Shipped.")));
    const ask = defineAgentTool({
      name: "ask",
      description: "Asks",
      inputSchema: { type: "object" },
      prepare: () => ({ provider: inner, tools: [lookUp], messages: [{ role: "user", content: "Ask." }] }),
    });
    const provider = createMockProvider(({ iteration }) => [toolCall("look_up"), toolCall("ask"), text("Done.")][iteration]);
    const options = optionsFor(0, { provider, tools: [lookUp, ask] });
    const journal = (): LoopOptions["journal"] => fileJournal(join(folder, "journal.jsonl"), { fsync: false });
    await runLogged({ ...options, limits: { maxIterations: 2 }, journal: journal() }, { to });
    await runLogged({ ...options, journal: journal() }, { to });
    const lines = readLines(to);
    const steps = ["output", "tool-start", "tool-end", "iteration-end", "request"].map((type) => [
      type,
      linesOf(lines, type).length,
    ]);
    // Three iterations belong to the run, and two to the nested run.
    expect(steps).toEqual([
      ["output", 5],
      ["tool-start", 3],
      ["tool-end", 3],
      ["iteration-end", 5],
      ["request", 5],
    ]);
    expect(linesOf(lines, "run-start").map((line) => line["run"])).toEqual([0, 1, 0]);
    expect(linesOf(lines, "request").at(-1)).toMatchObject({ run: 0, keep: 3 });
    const { runs } = await readRunLog(to);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ status: "completed", starts: [clock.now(), clock.now()] });
    expect(runs[0]?.iterations.map(({ calls }) => calls.map(({ result }) => result))).toEqual([[long], ["Shipped."], []]);
    expect(runs[0]?.iterations[2]?.request?.messages()).toHaveLength(5);
  });

  it('contains a second "iteration-end" line after the resumed calls of an iteration', async () => {
    const folder = makeFolder();
    const to = join(folder, "run.jsonl");
    const tools = [{ ...lookUp, needsApproval: true }];
    const journal = (): LoopOptions["journal"] => fileJournal(join(folder, "journal.jsonl"), { fsync: false });
    const { reason } = await runLogged(optionsFor(1, { tools, journal: journal() }), { to });
    const [id = ""] = reason.kind === "approval-required" ? reason.calls.map((call) => call.id) : [];
    const later = createTestClock(clock.now() + 3_600_000);
    await runLogged(optionsFor(1, { tools, journal: journal(), answers: { [id]: { kind: "approve" } } }), { to, clock: later });
    const [logged] = (await readRunLog(to)).runs;
    expect(linesOf(readLines(to), "iteration-end").map((line) => line["calls"])).toMatchObject([
      [{ outcome: "waiting" }],
      [{ outcome: "completed" }],
      [],
    ]);
    expect(logged?.iterations[0]?.waits).toEqual([{ kind: "approval", callId: "call_i0_0", from: clock.now(), to: later.now() }]);
    expect(logged?.iterations[0]?.calls[0]).toMatchObject({ decision: "approve", result: long });
    expect(logged?.status).toBe("completed");
  });
});

describe("a run log truncated at any byte", () => {
  it("can be read and continued", async () => {
    const folder = makeFolder();
    const whole = join(folder, "whole.jsonl");
    const options = optionsFor(2, { system: "Grüße. ".repeat(30) });
    const { journal } = await runLogged(options, { to: whole });
    const saved = JSON.stringify(journal);
    const bytes = readFileSync(whole);
    // Cuts at every 31st byte, and at each byte around the end of a line.
    const cuts = [...bytes.keys()].filter((at) => at % 31 === 0 || bytes.subarray(at - 2, at + 2).includes(10));
    for (const cut of cuts) {
      const path = join(folder, `cut-${cut}.jsonl`);
      writeFileSync(path, bytes.subarray(0, cut));
      const { isTorn, runs } = await readRunLog(path);
      const last = bytes.subarray(0, cut).toString().split("\n").at(-1) ?? "";
      expect([cut, isTorn]).toEqual([cut, last !== "" && !isJson(last)]);
      expect(runs.length).toBeLessThanOrEqual(1);
      const errors: unknown[] = [];
      await runLogged(
        { ...options, journal: memoryJournal(JSON.parse(saved)) },
        { to: path, onError: (error) => errors.push(error) },
      );
      expect(errors).toEqual([]);
      const [after] = (await readRunLog(path)).runs;
      expect([after?.status, after?.iterations.length]).toEqual(["completed", 3]);
      expect(after?.iterations.map(({ calls }) => calls.map(({ result }) => result))).toEqual([[long], [long], []]);
    }
  });
});
