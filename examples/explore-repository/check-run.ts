import assert from "node:assert/strict";
import type { LoopResult } from "turnwright";
import type { Workspace } from "./workspace.ts";

/** Throws an AssertionError if the run did not complete, or if the answer names a file or line that does not exist. */
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
