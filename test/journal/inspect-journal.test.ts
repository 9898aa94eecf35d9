import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  stopWhen,
  toolResult,
  runNested,
} from "turnwright";
import { fileJournal, inspectJournal, replayJournal, withBlobs } from "turnwright/journal";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { createStore } from "./blob-run.ts";
import { makeFolder } from "./folder.ts";
import { factsIn, factsOf } from "./inspection.ts";
import { counted, inner, looks, optionsFor, own, waits } from "./inspection-stage.ts";

describe("inspectJournal", () => {
  it("lists the pending calls with the details that an approval decision needs", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path) });
    const { status, pendingCalls } = await inspectJournal(path);
    const pay = { description: "pay", inputSchema: { type: "object" }, needsApproval: true };
    const waitKey = `wait/${own}/1`;
    const asks = { callId: "call_i0_0", index: 0, name: "pay", state: "awaiting-approval", tool: pay };
    expect([status, pendingCalls]).toEqual([
      "suspended",
      [
        { ...asks, id: own, waitKey, args: { n: 1 } },
        { id: "call_i0_1", callId: "call_i0_1", index: 1, name: "research", args: {}, state: "nested-run" },
        { ...asks, id: inner, waitKey: `wait/${inner}/1`, args: { n: 8 } },
      ],
    ]);
    const waiting = pendingCalls.filter(({ state }) => state === "awaiting-approval");
    const answers = Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" }] as const));
    const result = await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path), answers });
    expect([result.text, (await inspectJournal(path)).pendingCalls]).toEqual(["Done.", []]);
  });

  it.each<[title: string, open: () => Journal]>([
    ["fileJournal", () => fileJournal(join(makeFolder(), "run.jsonl"))],
    ["withBlobs", () => withBlobs(fileJournal(join(makeFolder(), "run.jsonl")), { store: createStore() })],
    ["replayJournal", () => memoryJournal()],
  ])("lists the pending calls of parallel nested runs in %s", async (title, open) => {
    const journal = open();
    const messages = [{ role: "user", content: "Go." }] as const;
    const options = (): Partial<LoopOptions> => ({ tools: [tool("pay", () => "paid", { needsApproval: true })] });
    const team = tool(
      "team",
      (_args, context) =>
        Promise.all(
          ["north", "south"].map(async (name) => {
            const provider = createMockProvider(({ iteration }) => (iteration === 0 ? toolCall("pay") : text(name)));
            return (await runNested(context, { ...options(), provider, messages }, name)).text;
          }),
        ),
      { durable: true },
    );
    const provider = createMockProvider(({ iteration }) => (iteration === 0 ? toolCall("team") : text("Done.")));
    const run: LoopOptions = { provider, tools: [team], messages, runId: "run", journal };
    await runToolLoop(run);
    const { pendingCalls } = await inspectJournal(title === "replayJournal" ? replayJournal(journal) : journal);
    const ids = pendingCalls.filter(({ state }) => state === "awaiting-approval").map(({ id }) => id);
    expect(ids).toEqual(["call_i0_0/north/call_i0_0", "call_i0_0/south/call_i0_0"]);
    const answers = Object.fromEntries(ids.map((id) => [id, { kind: "approve" }] as const));
    expect((await runToolLoop({ ...run, answers })).text).toBe("Done.");
  });

  it("returns the run id and the initial messages, with which the run can be resumed", async () => {
    const path = join(makeFolder(), "run.jsonl");
    expect((await inspectJournal(memoryJournal())).initialMessages).toEqual([]);
    const { messages, ...rest } = optionsFor(waits);
    await runToolLoop({ ...rest, messages, journal: fileJournal(path) });
    const { runId, initialMessages, messages: now, pendingCalls } = await inspectJournal(path);
    expect([initialMessages, now.length > messages.length]).toEqual([messages, true]);
    const waiting = pendingCalls.filter(({ state }) => state === "awaiting-approval");
    const answers = Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" }] as const));
    const journal = fileJournal(path);
    const wrong = runToolLoop({ ...optionsFor(waits), runId, messages: now, journal, answers });
    await expect(wrong).rejects.toThrow("Pass inspectJournal(...).initialMessages, not");
    expect((await runToolLoop({ ...optionsFor(waits), runId, messages: initialMessages, journal, answers })).text).toBe("Done.");
  });

  it("shows a pending call's recorded tool, and how the tool has changed since then", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const turns: readonly MockMessage[] = [toolCall("pay", { n: 1 }), text("Done.")];
    const paid: string[] = [];
    const withTool = (description: string): LoopOptions => ({
      ...optionsFor(turns, { tools: [tool("pay", () => paid.push(description), { needsApproval: true, description })] }),
      journal: fileJournal(path),
    });
    const shown = async (): Promise<unknown> => {
      const [call] = (await inspectJournal(path)).pendingCalls;
      if (call?.state !== "awaiting-approval") return call;
      return [call.id, call.tool.description, call.toolChanges?.map(({ kind }) => kind)];
    };
    await runToolLoop(withTool("Pays in USD"));
    expect(await shown()).toEqual([own, "Pays in USD", undefined]);
    const answers = { [own]: { kind: "approve" as const } };
    expect((await runToolLoop({ ...withTool("Pays in EUR"), answers })).status).toBe("suspended");
    expect([await shown(), paid]).toEqual([[`${own}~2`, "Pays in EUR", ["description-changed"]], []]);
    const again = { [`${own}~2`]: { kind: "approve" as const } };
    expect((await runToolLoop({ ...withTool("Pays in EUR"), answers: again })).status).toBe("completed");
    expect([await shown(), paid]).toEqual([undefined, ["Pays in EUR"]]);
  });

  it("reads a live run's file by path or journal, and changes neither the file nor its lock", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const journal = fileJournal(path);
    const seen: unknown[] = [];
    const look = tool("look", async (_, { messages: live }) => {
      const bytes = readFileSync(path);
      const { mtimeMs } = statSync(path);
      for (const source of [path, journal]) {
        const { runId, status, reason, messages: said, usage: used, pendingCalls } = await inspectJournal(source);
        expect(JSON.stringify(said)).toBe(JSON.stringify(live));
        seen.push([runId, status, reason, used.totalTokens, pendingCalls.map(({ id, state }) => [id, state])]);
      }
      expect([readFileSync(path).equals(bytes), statSync(path).mtimeMs, existsSync(`${path}.lock`)]).toEqual([
        true,
        mtimeMs,
        true,
      ]);
    });
    const turns: readonly MockMessage[] = [[toolCall("look"), counted], text("Done.")];
    await runToolLoop({ ...optionsFor(turns, { tools: [look] }), journal });
    const expected = ["run-1", "running", undefined, 7, [["call_i0_0", "may-have-run"]]];
    expect(seen).toEqual([expected, expected]);
  });

  it("distinguishes calls that may have run from calls that have not started", async () => {
    const store = createDurableStore();
    const turns: readonly MockMessage[] = [[toolCall("pay", { n: 1 }), toolCall("look"), toolCall("alone")], text("Done.")];
    const alone = tool("alone", () => 1, { sequential: true });
    const journal = store.open({ within: "i0/call/1/look/outcome" });
    const pay = tool("pay", () => "paid", { needsApproval: true });
    const look = tool("look", async () => {
      while (!store.records.has(`wait/${own}/1/asked`)) await Promise.resolve();
    });
    await expect(runToolLoop({ ...optionsFor(turns, { tools: [pay, look, alone] }), journal })).rejects.toThrow("died");
    const { status, pendingCalls } = await inspectJournal(store.open());
    expect([status, pendingCalls.map(({ index, state }) => [index, state])]).toEqual([
      "running",
      [
        [0, "awaiting-approval"],
        [1, "may-have-run"],
        [2, "not-begun"],
      ],
    ]);
  });

  it('reports a running call in a memory journal as "may-have-run"', async () => {
    const journal = memoryJournal();
    const seen: unknown[] = [];
    const look = tool("look", async () => {
      seen.push((await inspectJournal(journal)).pendingCalls.map(({ state }) => state));
    });
    await runToolLoop({ ...optionsFor([toolCall("look"), text("Done.")], { tools: [look] }), journal });
    expect(seen).toEqual([["may-have-run"]]);
  });

  it('reports the status "running" while one call is waiting for approval and another call runs', async () => {
    const store = createDurableStore();
    const seen: unknown[] = [];
    const slow = tool("slow", async () => {
      const { status, pendingCalls } = await inspectJournal(store.open());
      seen.push([status, pendingCalls.map(({ id, state }) => `${id} ${state}`)]);
    });
    const turns: readonly MockMessage[] = [[toolCall("pay", { n: 1 }), toolCall("slow")], text("Done.")];
    const { tools = [] } = optionsFor(turns);
    await runToolLoop({ ...optionsFor(turns, { tools: [...(tools as []), slow] }), journal: store.open() });
    expect([seen, (await inspectJournal(store.open())).status]).toEqual([
      [["running", [`${own} awaiting-approval`, "call_i0_1 may-have-run"]]],
      "suspended",
    ]);
  });

  it.for<[what: string, write: (path: string) => void]>([
    ["empty", (path) => writeFileSync(path, "")],
    ["cut off in its header", (path) => truncateSync(path, 20)],
    ["cut off in its first record", (path) => truncateSync(path, 60)],
  ])('reports the status "not-started" for a file that is %s', async ([, write]) => {
    const path = join(makeFolder(), "run.jsonl");
    await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path) });
    write(path);
    expect(await inspectJournal(path)).toMatchObject({ runId: undefined, status: "not-started", messages: [], pendingCalls: [] });
  });

  it("ignores a half-written last line, but leaves the line in the file", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const result = await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path) });
    appendFileSync(path, '{"sum":"0123');
    const bytes = readFileSync(path);
    expect(factsIn(await inspectJournal(path))).toEqual(factsOf(result));
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it.for<[what: string, change: (text: string) => string, line: number]>([
    ["with a changed byte", (lines) => lines.replace("Three things.", "three things."), 4],
    ["with a repeated line", (lines) => lines.replace(/^(.*\n)(.*\n)/, "$1$2$2"), 3],
    ["from a different version", (lines) => lines.replace(":1}", ":2}"), 1],
    ["with CRLF line endings", (lines) => lines.replaceAll("\n", "\r\n"), 1],
    ["of plain text", () => "Dear diary,\n", 1],
  ])('throws "journal-damaged" with the line number for a file %s', async ([, change, line]) => {
    const path = join(makeFolder(), "run.jsonl");
    await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path) });
    writeFileSync(path, change(readFileSync(path, "utf8")));
    await expect(inspectJournal(path)).rejects.toMatchObject({ code: "journal-damaged", details: { line } });
  });

  it.for([1, 2, 3, 5, undefined])("rejects records with `version: %s` and names the supported version", async (version) => {
    const { journal } = await runToolLoop(optionsFor(looks));
    const { steps } = JSON.parse(JSON.stringify(journal)) as { steps: { run: object } };
    const saved: SavedJournal = JSON.parse(JSON.stringify({ steps: { ...steps, run: { ...steps.run, version } } }));
    const other = memoryJournal(saved);
    const details = { field: "version", expected: "4", received: String(version) };
    await expect(inspectJournal(other)).rejects.toMatchObject({ code: "journal-mismatch", details });
    await expect(inspectJournal(other)).rejects.toThrow(`has format version ${version}, but this release reads version 4`);
  });

  it("rejects records that do not begin with a run record", async () => {
    const other = memoryJournal({ steps: { begin: { now: 1, token: "t" } } });
    await expect(inspectJournal(other)).rejects.toMatchObject({ code: "journal-damaged", details: { key: "run" } });
  });

  it.for([true, false])(
    "shows a message sent during the last iteration of a drained run only if the resumed run received it: %s",
    async (isPassedOn) => {
      const journal = memoryJournal();
      const control = createLoopControl();
      const end = tool("look", () => {
        control.steer("In Celsius.");
        control.drain();
        return toolResult({ data: 7, endTurn: true });
      });
      const options = { ...optionsFor([toolCall("look"), text("Done.")], { tools: [end] }), journal };
      const { undelivered } = await runToolLoop({ ...options, control });
      const next = createLoopControl();
      if (isPassedOn) for (const message of undelivered) next.steer(message);
      const done = await runToolLoop({ ...options, control: next });
      expect([done.status, undelivered.length]).toEqual(["completed", 1]);
      expect(factsIn(await inspectJournal(journal))).toEqual(factsOf(done));
    },
  );

  it("reports a drained run as suspended, and the resumed run as completed", async () => {
    const journal = memoryJournal();
    const control = createLoopControl();
    const turns: readonly MockMessage[] = [toolCall("look"), text("Done.")];
    const drain = tool("look", () => void control.drain());
    const drained = await runToolLoop({ ...optionsFor(turns, { tools: [drain], control }), journal });
    expect(factsIn(await inspectJournal(journal))).toEqual(factsOf(drained));
    const done = await runToolLoop({ ...optionsFor(turns, { tools: [tool("look", () => 1)] }), journal });
    expect([drained.status, factsIn(await inspectJournal(journal))]).toEqual(["suspended", factsOf(done)]);
  });

  it("reports a run as running while the model still has to answer a steered message", async () => {
    const store = createDurableStore();
    const control = createLoopControl();
    const turns: readonly MockMessage[] = [text("First."), text("Second.")];
    const conditions = (): boolean => (control.steer("And?"), false);
    const run = (journal: Journal, more: Partial<LoopOptions>): Promise<LoopResult> =>
      runToolLoop({ ...optionsFor(turns, more), journal });
    const crashed = run(store.open({ after: "i0/answered" }), { control, middleware: [stopWhen(conditions)] });
    await expect(crashed).rejects.toThrow("died");
    expect(await inspectJournal(store.open())).toMatchObject({ status: "running", reason: undefined, text: "First." });
    const result = await run(store.open(), { limits: { maxIterations: 2 }, middleware: [stopWhen(() => false)] });
    expect([result.text, factsIn(await inspectJournal(store.open()))]).toEqual(["Second.", factsOf(result)]);
  });

  it("finds the initial messages, which the file stores only once", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const content = `Read this. ${"x".repeat(1_000)}`;
    await runToolLoop({ ...optionsFor(looks, { messages: [{ role: "user", content }] }), journal: fileJournal(path) });
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines.map((line) => line.split(content).length - 1).filter((count) => count > 0)).toEqual([1]);
    expect((await inspectJournal(path)).messages[0]).toEqual({ role: "user", content });
  });

  it("reads a replayJournal, even while the file is locked", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const result = await runToolLoop({ ...optionsFor(waits), journal: fileJournal(path) });
    const close = await fileJournal(path).open();
    expect(factsIn(await inspectJournal(replayJournal(fileJournal(path))))).toEqual(factsOf(result));
    await close();
  });

  it('throws "invalid-option" for an unreadable source and ENOENT for a missing file', async () => {
    const { durable, step, read } = createDurableStore().open();
    for (const source of ["", undefined, {}, 7, { durable, step }, { durable, read }]) {
      await expect(inspectJournal(source as never)).rejects.toMatchObject({ code: "invalid-option" });
    }
    await expect(inspectJournal(join(makeFolder(), "none.jsonl"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
