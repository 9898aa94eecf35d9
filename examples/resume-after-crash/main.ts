// A process is killed while a bank charges a card. Another process continues the run with the same options and the same journal
// file. Every booking and charge is made exactly once.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type LoopOptions, runToolLoop } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { type Bank, createModel, createTools, openLedger } from "./travel-agent.ts";

/** Every process must use the same options. */
function optionsIn(folder: string, bank: Bank): LoopOptions {
  return {
    provider: createModel(),
    tools: createTools(openLedger(join(folder, "ledger.txt")), bank),
    messages: [{ role: "user", content: "Book me three days in Lisbon, and pay with my card." }],
    runId: "trip-1",
    journal: fileJournal(join(folder, "trip-1.jsonl")),
  };
}

/** The first process. The bank charges the card, but its answer never arrives. */
async function workIn(folder: string): Promise<void> {
  const slowBank: Bank = () => {
    console.log("The bank is asked.");
    return new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
  };
  const result = await runToolLoop(optionsIn(folder, slowBank));
  console.log(result.text);
}

interface Ended {
  readonly lines: readonly string[];
  readonly end: unknown;
}

/** Kills the process when it prints the line `killAt`. */
async function startProcess(folder: string, killAt?: string): Promise<Ended> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line === killAt) child.kill("SIGKILL");
  }
  return { lines, end: await end };
}

async function crashAndResume(folder: string): Promise<void> {
  const ledger = openLedger(join(folder, "ledger.txt"));
  const first = await startProcess(folder, "The bank is asked.");
  assert.equal(first.end, "SIGKILL");
  console.log(`The first process was killed. The ledger says: ${ledger.entries().join(", ")}.`);

  const second = await startProcess(folder);
  assert.deepEqual(second, {
    lines: ["Lisbon is booked. We were cut off over the payment: I looked, and your card was charged once."],
    end: 0,
  });
  assert.deepEqual([...ledger.entries()].sort(), ["charge of 640 USD", "flight to Lisbon", "hotel to Lisbon"]);
  console.log(`The second one: ${second.lines.join(" ")}`);

  // Replays the run from its journal. A replay does not call the model or any tool, so the bank can throw.
  const { journal, ...options } = optionsIn(folder, () => Promise.reject(new Error("There is no bank.")));
  assert.ok(journal);
  const replayed = await runToolLoop({ ...options, journal: replayJournal(journal) });
  assert.deepEqual(
    replayed.messages.flatMap((message) => (message.role === "tool" ? message.results.map(({ outcome }) => outcome) : [])),
    ["completed", "completed", "interrupted", "completed"],
  );
  console.log(`What became of its calls: ${replayed.functionHistory.length} answered, 1 interrupted.`);
}

const [, , given] = process.argv;
if (given === undefined) {
  const folder = mkdtempSync(join(tmpdir(), "trip-"));
  try {
    await crashAndResume(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else {
  await workIn(given);
}
