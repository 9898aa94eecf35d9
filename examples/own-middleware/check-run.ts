// Plays a run to its end, with a process that dies at a given point, and checks what is left.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ended, Execution } from "./execution.ts";
import type { Permission } from "./remember-permissions.ts";

/** Executes the run once. */
export type Start = (execution: Execution) => Promise<Ended | "killed">;

/** The answers of the person, by call. */
const said: Readonly<Record<string, Permission>> = { call_i0_0: "allow-always", call_i0_1: "allow-once", call_i1_1: "deny" };

interface Played {
  readonly ended: Ended;
  /** How often each question was asked. */
  readonly asked: Readonly<Record<string, number>>;
}

/** Executes the run until it ends, as often as necessary. The person answers each question. */
async function play(start: Start, execution: Execution): Promise<Played> {
  const asked: Record<string, number> = {};
  let next = execution;
  for (;;) {
    const ended = await start(next);
    if (ended === "killed") {
      next = { ...next, killAt: undefined };
      continue;
    }
    if (ended.status !== "suspended") return { ended, asked };
    const answers: Record<string, Permission> = {};
    for (const { id, callId } of ended.waiting) {
      asked[callId] = (asked[callId] ?? 0) + 1;
      answers[id] = said[callId] ?? "deny";
    }
    next = { ...next, answers };
  }
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** Returns the number of points that the run has passed. */
export async function checkRun(start: Start, killAt?: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "own-middleware-"));
  try {
    const { ended, asked } = await play(start, { folder, runId: "first", killAt, answers: {} });
    // Ann and Ben are paid. Ann is not paid again, because the quota is used up, and the person does not allow Cleo.
    const outcomes = ended.text.split(" ");
    const isCut = (outcome: string | undefined): boolean => killAt !== undefined && outcome === "interrupted";
    assert.deepEqual(
      outcomes.map((one) => (isCut(one) ? "completed" : one)),
      ["completed", "completed", "denied", "denied"],
    );
    assert.deepEqual(asked, { call_i0_0: 1, call_i0_1: 1, call_i1_1: 1 });
    assert.deepEqual(readdirSync(join(folder, "quota", "today", "pay")), ["1", "2"]);
    assert.equal(readdirSync(join(folder, "permissions")).length, 1);
    const paid = linesOf(join(folder, "paid.txt"));
    assert.equal(new Set(paid).size, paid.length);
    // A call that may have run is not repeated: its result says "interrupted".
    assert(paid.length <= 2 && paid.length >= outcomes.filter((one) => one === "completed").length);
    return ended.points;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
