// Checks `sqliteJournal` with the test suite for journals. Also checks that a run has only one owner at a time, and
// that a run survives the crash of its process.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { defineTool, isLoopError, type Journal, type LoopOptions, runToolLoop } from "turnwright";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, journalSuite, type SuiteCheck, text, toolCall } from "turnwright/testing";
import { sqliteJournal } from "./sqlite-journal.ts";

// Long enough for a busy machine, on which a heartbeat may be late.
const LEASE_MS = 6_000;

interface Note {
  readonly text: string;
}

const note = (text: string): Note => ({ text });

/** `open` is optional in the type `Journal`, but this journal always has it. */
async function openOf(journal: Journal): Promise<() => PromiseLike<void>> {
  assert.ok(journal.open);
  return journal.open();
}

const isLocked = (error: unknown): boolean => isLoopError(error, "journal-locked");

/** A process whose heartbeat is late loses its run. It can then neither write to the journal nor unlock it. */
async function checkLateOwner(file: string): Promise<void> {
  const late = sqliteJournal(file, "late", 0); // this lease expires immediately
  const closeLate = await openOf(late);
  const slow = (): Promise<Note> => sleep(300, note("from the late owner"));
  const lost = assert.rejects(async () => late.step("slow", slow), /taken over/);
  const next = sqliteJournal(file, "late", LEASE_MS);
  const close = await openOf(next);
  assert.deepEqual(await next.step("slow", () => note("from the new owner")), note("from the new owner"));
  await lost;
  await closeLate();
  await assert.rejects(openOf(sqliteJournal(file, "late")), isLocked);
  assert.deepEqual(await late.read("slow"), note("from the new owner"));
  await close();
}

/** A step may still run when its journal is closed and opened again. It must not write into the new journal. */
async function checkLateStep(file: string): Promise<void> {
  const journal = sqliteJournal(file, "late-step");
  const close = await openOf(journal);
  const slow = (): Promise<Note> => sleep(200, note("late"));
  const late = assert.rejects(async () => journal.step("a", slow), /taken over/);
  await sleep(50);
  await close();
  const closeAgain = await openOf(journal);
  await late;
  assert.equal(await journal.read("a"), undefined);
  await closeAgain();
  await assert.rejects(
    async () => journal.step("b", () => note("b")),
    (error) => isLoopError(error, "journal-closed"),
  );
}

/** A record is in the file when its step returns. SQLite would change some keys, so these keys are tested too. */
async function checkRecords(file: string): Promise<void> {
  const journal = sqliteJournal(file, "strange\0run");
  const close = await openOf(journal);
  const keys = ["i0/call/0/a\0b", "i0/call/0/a\0c", "i0/call/0/\ud800", "i0/call/0/\ud801", "i0/call/0/A", "i0/call/0/a"];
  for (const key of keys) await journal.step(key, () => note(key));
  const other = sqliteJournal(file, "strange\0run");
  for (const key of keys) assert.deepEqual(await other.read(key), note(key));
  await close();
  for (const key of keys) assert.equal(await sqliteJournal(file, "strange").read(key), undefined);
}

/** If a process dies in a transaction, its lock of SQLite remains. */
async function checkLeftOverLock(file: string): Promise<void> {
  mkdirSync(`${file}.lock`);
  const runs = ["one", "two", "three"].map((runId) => sqliteJournal(file, runId));
  const closings = await Promise.all(runs.map(openOf));
  await Promise.all(closings.map((close) => close()));
  assert.equal(
    readdirSync(join(file, "..")).some((name) => name.includes(".lock")),
    false,
  );
}

/** In the first process, the tool never ends. */
function optionsIn(folder: string): LoopOptions {
  const charge = defineTool({
    name: "charge",
    description: "Charges the card",
    inputSchema: { type: "object" },
    execute: async () => {
      appendFileSync(join(folder, "charges.txt"), "charged\n");
      console.log("charging");
      await sleep(600_000);
      return "receipt 1";
    },
  });
  const provider = createMockProvider(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "tool") return toolCall("charge");
    return text(`The charge is ${last.results.map(({ outcome }) => outcome).join()}.`);
  });
  const journal = sqliteJournal(join(folder, "runs.db"), "order-7", LEASE_MS);
  return { provider, tools: [charge], messages: [{ role: "user", content: "Pay." }], runId: "order-7", journal };
}

async function checkKilledProcess(folder: string): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      assert.equal(line, "charging");
      await sleep(LEASE_MS + 500); // the heartbeat must keep the lock while the tool runs
      await assert.rejects(runToolLoop({ ...optionsIn(folder), tools: [] }), isLocked);
      child.kill("SIGKILL");
    }
  } finally {
    child.kill("SIGKILL"); // also if the check fails
  }
  assert.equal(await ended, "SIGKILL");
  const { journal, ...options } = optionsIn(folder);
  assert.ok(journal);
  await assert.rejects(runToolLoop({ ...options, journal }), isLocked);
  const { status, pendingCalls } = await inspectJournal(journal);
  assert.deepEqual([status, pendingCalls.map(({ state }) => state)], ["running", ["may-have-run"]]);
  await sleep(LEASE_MS + 100);
  const result = await runToolLoop({ ...options, journal });
  assert.deepEqual([result.status, result.text], ["completed", "The charge is interrupted."]);
  assert.equal(readFileSync(join(folder, "charges.txt"), "utf8"), "charged\n");
  const replayed = await runToolLoop({ ...options, journal: replayJournal(journal) });
  assert.equal(replayed.text, result.text);
}

function checksIn(folder: string): readonly SuiteCheck[] {
  const file = join(folder, "suite.db");
  // Creates a journal object for each execution, because real executions are in separate processes.
  const suite = journalSuite({ execute: (runId, body) => body(sqliteJournal(file, runId)) });
  const left = join(folder, "left-over");
  mkdirSync(left);
  return [
    ...suite,
    { title: "refuses writes of an owner that has lost its run", run: () => checkLateOwner(file) },
    { title: "refuses the result of a step that began before the journal was opened again", run: () => checkLateStep(file) },
    { title: "stores each record before its step returns, under its exact key", run: () => checkRecords(file) },
    { title: "removes the lock of a process that died in a transaction", run: () => checkLeftOverLock(join(left, "runs.db")) },
    { title: "continues a run whose process was killed in a tool", run: () => checkKilledProcess(folder) },
  ];
}

async function checkAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sqlite-journal-"));
  try {
    for (const { title, run } of checksIn(folder)) {
      const fault = await run().then(() => undefined, String);
      console.log(`${fault === undefined ? "ok   " : "FAULT"} ${title}${fault === undefined ? "" : `\n      ${fault}`}`);
      if (fault !== undefined) process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [, , folder] = process.argv;
await (folder === undefined ? checkAll() : runToolLoop(optionsIn(folder)));
