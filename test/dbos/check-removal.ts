// The checks of `remove` and `keepRuns`, for a durable host of any engine.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { DurableHost } from "turnwright/dbos";

/** Starts a run of the shop of shop.ts, and returns its id when it has ended. */
async function run(shop: DurableHost, id: string, message: string): Promise<string> {
  const started = await shop.start(id, { message });
  ok(started.kind === "started");
  await started.result();
  return started.runId;
}

/** The host must be the shop of shop.ts. */
export async function checkRemoval(shop: DurableHost): Promise<void> {
  const id = "removed";
  equal(await run(shop, id, "Hello."), "removed/1");
  equal(await run(shop, id, "And now?"), "removed/2");
  const ordered = await shop.start(id, { message: "Order." });
  ok(ordered.kind === "started");
  equal(await shop.remove(id), "busy");
  await shop.stop(id);
  await ordered.result();
  equal(await shop.remove(id), "removed");
  equal(await shop.remove(id), "unknown");
  deepEqual([await shop.status(id), await shop.join(id)], [undefined, undefined]);
  // The conversation begins again, under an id that no run had before.
  equal(await run(shop, id, "Hello again."), "removed/4");
  equal((await shop.status(id))?.messages.length, 2);
  equal(await shop.remove("nobody"), "unknown");
  const broken = await shop.start("broken", { message: "Hello.", input: "broken" });
  ok(broken.kind === "started");
  await rejects(broken.result(), /The options are broken/);
  equal(await shop.remove("broken"), "removed");
  equal(await shop.status("broken"), undefined);
}

/** `keeping` is the shop with `keepRuns: 2`. */
export async function checkKeepRuns(keeping: DurableHost): Promise<void> {
  const id = "kept";
  const isStored = async (number: number): Promise<boolean> =>
    (await keeping.join(id, { from: `${number}-0` }))?.runId === `${id}/${number}`;
  for (const message of ["One", "Two", "Three", "Four"]) await run(keeping, id, message);
  // The start of run 4 found run 3 as the last one that had ended.
  deepEqual(await Promise.all([1, 2, 3, 4].map(isStored)), [false, true, true, true]);
  equal((await keeping.status(id))?.messages.length, 8);
  equal((await keeping.status(id))?.runs, 4);
}
