// Runs an evaluation in a program, plays its failed trials again, and tries them with another model.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluate } from "turnwright/evals";
import { support } from "./support.eval.ts";

const directory = mkdtempSync(join(tmpdir(), "evals-"));
try {
  // #region run
  const report = await evaluate(support, { directory, limits: { maxCostUSD: 1 } });
  for (const { id, status, passed, failed, interval } of report.cases) {
    const [low, high] = interval.map((rate) => Math.round(100 * rate));
    console.log(`${status} ${id}: ${passed} of ${passed + failed} trials, so ${low} to ${high}% pass`);
  }
  // #endregion run
  assert.equal(report.ok, false);
  assert.deepEqual(
    report.cases.map(({ id, status, passed }) => [id, status, passed]),
    [
      ["refund", "passed", 4],
      ["paid-back", "failed", 0],
      ["unknown-order", "failed", 3],
      ["greeting", "passed", 4],
    ],
  );
  // #region replay
  // The model is played from the recordings. Tools and checks run again, in new worlds.
  const again = await evaluate(support, { directory, replay: true });
  // #endregion replay
  assert.deepEqual(
    again.cases.map(({ id, failed }) => [id, failed]),
    [
      ["paid-back", 4],
      ["unknown-order", 1],
    ],
  );
} finally {
  rmSync(directory, { recursive: true });
}
