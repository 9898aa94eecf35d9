// Tests each tool alone. A tool needs no model for that.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestClock, runTool } from "turnwright/testing";
import { offlineServices } from "../src/services.ts";
import { createTools, type Services } from "../src/tools.ts";

const findTable = (fetch: Services["fetch"]) => createTools({ ...offlineServices, fetch }).findTable;

await test("find_table returns the free table", async () => {
  const outcome = await runTool(findTable(offlineServices.fetch), { guests: 4 });
  assert(outcome.kind === "completed");
  assert.deepEqual(outcome.data, { table: 7 });
});

await test("find_table refuses wrong arguments before it calls the service", async () => {
  const outcome = await runTool(
    findTable(() => assert.fail("The service was asked.")),
    { guests: 40 },
  );
  assert(outcome.kind === "invalid-input");
  assert.deepEqual(outcome.issues[0]?.path, ["guests"]);
});

await test("find_table tells the model what went wrong", async () => {
  const outcome = await runTool(
    findTable(async () => new Response(null, { status: 503 })),
    { guests: 4 },
  );
  assert(outcome.kind === "failed");
  assert.match(outcome.error.message, /answered with 503/);
});

await test("find_table gives up after five seconds and cancels its request", async () => {
  const clock = createTestClock();
  let signal: AbortSignal | null | undefined;
  const silent: Services["fetch"] = (_url, init) => {
    signal = init?.signal;
    return new Promise(() => {});
  };
  const running = runTool(findTable(silent), { guests: 4 }, { clock });
  await clock.advance(5_000);
  assert.equal((await running).kind, "timed-out");
  assert.equal(signal?.aborted, true);
});
