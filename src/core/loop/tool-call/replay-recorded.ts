// The calls of a batch that have run, or begun, in an execution before this one. They are replayed before anything new begins, whatever
// they would have to wait for: what they have spent counts first, and the decisions for calls inside them are taken or refused.

import { callKey } from "../state/step-key.ts";
import { isRecorded } from "../run/ask-journal.ts";
import { waitForTurn } from "../run/park-run.ts";
import type { Run } from "../run/run.ts";
import type { Batch, Entry } from "./batch.ts";

/** Whether a batch may have such calls, and the journal can say so. One that knows steps by their order has one order for them. */
export function mayHaveRecorded({ replayed, journal }: Run, { todo }: Batch): boolean {
  if (!replayed || journal.replays !== undefined || journal.ordered === true || journal.wait !== undefined) return false;
  return journal.has !== undefined || todo.some(({ agent }) => agent !== undefined);
}

/** Replays them. Runs inside calls go on as far as their records go. Throws LoopError "unknown-decision". */
export async function replayRecorded(
  run: Run,
  batch: Batch,
  replay: (wave: readonly Entry[]) => void | PromiseLike<void>,
): Promise<void> {
  const begun: Entry[] = [];
  for (;;) {
    const wave = await takeRecorded(run, batch);
    if (wave.length === 0) break;
    begun.push(...wave);
    await replay(wave);
  }
  if (run.park === undefined && run.scope.cause === undefined) run.decisions.refuseInside(run.state.turn.calls);
  batch.takeBack(begun);
  // Those inside it would go on in its place.
  if (batch.hasBegun) await waitForTurn(run);
}

async function takeRecorded(run: Run, batch: Batch): Promise<readonly Entry[]> {
  const found = await Promise.all(batch.todo.map(async (entry) => isOnRecord(run, batch, entry)));
  const recorded = new Set(batch.todo.filter((_, position) => found[position] === true));
  return batch.take((entry) => recorded.has(entry));
}

function isOnRecord(run: Run, batch: Batch, entry: Entry): boolean | PromiseLike<boolean> {
  const { ready, index, round, agent } = entry;
  const { callId, name } = ready.call;
  if (run.journal.has !== undefined)
    return isRecorded(run, callKey(run.state, agent === undefined ? "tool" : "agent", { index, name, round }));
  // A journal that cannot say so may have all runs that could have begun. One that has not begun does so, and waits for its turn.
  return agent !== undefined && (batch.isFree(entry) || run.decisions.isLeftInside(callId));
}
