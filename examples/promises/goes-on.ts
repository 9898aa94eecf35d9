// A process is killed after it has charged a card. Another process continues, and does not charge the card again.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { line, type Strip } from "./strip.ts";

interface Ended {
  readonly lines: readonly string[];
  readonly end: unknown;
}

/** Starts the worker in `folder`, and kills it when it prints the line `killAt`. */
async function work(folder: string, network: "up" | "down", killAt?: string): Promise<Ended> {
  const program = fileURLToPath(new URL("worker.ts", import.meta.url));
  const parameters = [...process.execArgv, program, join(folder, "ledger.txt"), join(folder, "invoice-9.jsonl"), network];
  const child = spawn(process.execPath, parameters, { stdio: ["ignore", "pipe", "inherit"] });
  const end = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  const lines: string[] = [];
  for await (const printed of createInterface({ input: child.stdout })) {
    lines.push(printed);
    if (printed === killAt) child.kill("SIGKILL");
  }
  return { lines, end: await end };
}

export async function goesOn(): Promise<Strip> {
  const folder = mkdtempSync(join(tmpdir(), "promises-"));
  try {
    const first = await work(folder, "down", "tool-end");
    const second = await work(folder, "up");
    const charges = readFileSync(join(folder, "ledger.txt"), "utf8").trim().split("\n");
    const said = second.lines.at(-1) ?? "";
    assert.deepEqual([first.end, second.end, said, charges], ["SIGKILL", 0, "Paid. Your receipt is r-17.", ["640 USD"]]);
    return {
      promise: "It resumes anywhere",
      frames: [
        {
          when: "process 1",
          title: "A tool charges a card",
          lines: [line("tool", "charge_card()"), line("quiet", "journal: recorded")],
        },
        { when: "process 1", title: "The process dies", lines: [line("danger", "kill -9")] },
        {
          when: "process 2",
          title: "Same run, same journal",
          lines: [line("tool", "charge_card(): replayed, not run again")],
        },
        {
          when: "process 2",
          title: "The answer arrives",
          lines: [
            line("model", said),
            line("result", `card charged: ${charges.length === 1 ? "once" : `${charges.length} times`}`),
          ],
        },
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
