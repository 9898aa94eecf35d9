// Measures durable loops on DBOS and Postgres, and sends the rows to the parent process.
import { randomBytes } from "node:crypto";
import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { tsImport } from "tsx/esm/api";
import { dist, defineTool } from "../turnwright.js";

/** @typedef {import("../row.js").Row} Row */

/** @type {typeof import("../../../src/dbos/index.ts")} */
const { defineDurableLoop, launchWorker } = await import(new URL("dbos.js", dist).href);
/** @type {typeof import("../../../src/testing/index.ts")} */
const { createMockProvider, text, toolCall, wait } = await import(new URL("testing.js", dist).href);
/** @type {typeof import("../../../examples/workers/start-postgres.ts")} */
const { startPostgres } = await tsImport("../../../examples/workers/start-postgres.ts", import.meta.url);

/** @param {number} bytes */
const textOf = (bytes) => randomBytes(bytes / 2).toString("hex");

const find = defineTool({
  name: "find",
  description: "Finds a text",
  inputSchema: { type: "object" },
  replay: "safe",
  execute: () => makeResult(),
});
let makeResult = () => "found";

/** The inputs of the loop. `calls` is the number of iterations with a tool call, and `context` is the size of the first message. */
const loop = defineDurableLoop({
  name: "measured",
  options: (/** @type {{ calls: number, context?: number, waitMs?: number }} */ { calls, context = 10, waitMs }) => ({
    provider: createMockProvider(({ iteration }) => {
      const says = iteration < calls ? toolCall("find", {}) : text("Done.");
      return waitMs === undefined ? says : [wait(waitMs), says];
    }),
    tools: [find],
    limits: { maxIterations: calls + 1 },
    messages: [{ role: "user", content: "x".repeat(context) }],
  }),
});

const postgres = await startPostgres();
const worker = await launchWorker({ databaseUrl: postgres.url });

/** @param {() => Promise<unknown>} work */
async function timeOf(work) {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}

function heapNow() {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/**
 * @param {string} prefix
 * @param {number} count
 * @param {{ calls: number, waitMs?: number }} input
 */
async function runMany(prefix, count, input) {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(ids.map((id) => loop.start(id, input)));
  const results = await Promise.all(ids.map((id) => loop.result(id)));
  const wrong = results.filter(({ status }) => status !== "completed").length;
  if (wrong > 0) throw new Error(`${wrong} of ${count} runs did not complete.`);
}

/** @returns {Promise<readonly Row[]>} */
async function measureTogether() {
  const before = heapNow();
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().heapUsed)), 5);
  const ms = await timeOf(() => runMany("together", 500, { calls: 2, waitMs: 5 }));
  clearInterval(timer);
  return [
    { workload: "500 runs at once on one worker, 3 iterations, wall", unit: "ms", turnwright: ms },
    { workload: "500 runs at once on one worker, highest heap", unit: "MB", turnwright: (highest - before) / 2 ** 20 },
  ];
}

/** @returns {Promise<Row>} */
async function measureLeftovers() {
  const size = 100;
  for (let batch = 0; batch < 10; batch += 1) await runMany(`warm-${batch}`, size, { calls: 1 });
  const before = heapNow();
  for (let batch = 0; batch < 100; batch += 1) await runMany(`left-${batch}`, size, { calls: 1 });
  return {
    workload: "heap left by a run, over 10,000 runs of 2 iterations",
    unit: "B",
    turnwright: Math.round((heapNow() - before) / (100 * size)),
  };
}

/**
 * Returns how many bytes the tables of a run have, without the input of the run.
 *
 * @param {string} runId
 */
async function storedBy(runId) {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT (SELECT sum(octet_length(body)) FROM turnwright.records WHERE run_id = $1)
          + (SELECT sum(octet_length(body)) FROM turnwright.events WHERE run_id = $1)
          + (SELECT coalesce(sum(octet_length(body) + 64), 0) FROM turnwright.blobs WHERE run_id = $1) AS bytes`,
    [runId],
  );
  await client.end();
  return Number(rows[0]?.bytes ?? 0);
}

/** @returns {Promise<Row>} */
async function measureStored() {
  makeResult = () => textOf(5_000);
  await loop.start("stored", { calls: 100, context: 800_000 });
  await loop.result("stored");
  makeResult = () => "found";
  return {
    workload: "data of 100 calls of 5 KB, without 800 KB of input",
    unit: "KB",
    turnwright: (await storedBy("stored")) / 1_024,
    target: { of: "turnwright", atMost: 1_024 },
  };
}

/** Executes a run of 2,000 iterations again, from its records. @returns {Promise<readonly Row[]>} */
async function measureLong() {
  const calls = 2_000;
  await loop.start("long", { calls });
  const recordMs = await timeOf(() => loop.result("long"));
  const replayMs = await timeOf(async () => {
    await DBOS.rewindWorkflow("long", { startStep: 0, queueName: "turnwright turnwright measured" });
    await loop.result("long");
  });
  return [
    { workload: "one iteration of a run of 2,000 iterations, wall", unit: "ms", turnwright: recordMs / calls },
    {
      workload: "replay of 2,000 iterations in another execution, wall",
      unit: "ms",
      turnwright: replayMs,
      target: { of: "turnwright", atMost: 2_000 },
    },
  ];
}

/** @type {readonly Row[]} */
const rows = [...(await measureLong()), await measureStored(), ...(await measureTogether()), await measureLeftovers()];
await worker.stop();
await postgres.stop();
process.send?.(rows, () => process.exit(0));
if (process.send === undefined) console.log(rows);
