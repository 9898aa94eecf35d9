// Checks a run of the scripted model over any repository.

import assert from "node:assert/strict";
import type { LoopResult } from "turnwright";
import type { Workspace } from "./workspace.ts";

/** Throws an AssertionError unless the run ended well, and every place that the answer names is there. */
export async function checkRun(result: LoopResult, workspace: Workspace): Promise<void> {
  const { status, reason, text, functionHistory, costUSD } = result;
  assert.equal(status, "completed");
  assert.equal(reason.kind, "answered");
  assert.equal(functionHistory.length, result.toolCallsExecuted);
  assert.deepEqual(
    functionHistory.filter(({ outcome }) => outcome !== "completed").map(({ functionCall }) => functionCall),
    [],
  );
  assert(costUSD !== undefined && costUSD > 0);
  for (const [place, path = "", line] of text.matchAll(/([\w./-]+):(\d+)/g)) {
    const lines = (await workspace.readText(path)).split("\n");
    assert(lines[Number(line) - 1] !== undefined, `The answer names ${place}, which is not there.`);
  }
}
