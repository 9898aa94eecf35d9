// Tests the job without a database: the same options, with a journal in memory.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLoopControl, memoryJournal, runToolLoop } from "turnwright";
import { toOptions } from "../src/report-loop.ts";
import { script } from "../src/script.ts";

await test("a job ends with a report", async () => {
  const { status, text, calls } = await runToolLoop(toOptions(script, { topic: "tea" }));
  assert.equal(status, "completed");
  assert.equal(text, "The report is written. It has 3 facts.");
  assert.equal(calls.length, 3);
});

await test("another worker continues a job and repeats no lookup", async () => {
  const journal = memoryJournal();
  const control = createLoopControl();
  const options = { ...toOptions(script, { topic: "tea" }), runId: "report-1", journal };
  control.drain(); // as a worker that is asked to end
  const first = await runToolLoop({ ...options, control });
  assert.equal(first.reason.kind, "drained");
  const second = await runToolLoop(options);
  assert.equal(second.status, "completed");
  assert.equal(second.calls.length, 3);
});
