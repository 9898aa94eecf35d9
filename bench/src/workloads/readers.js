// Measures a run host with 100 live runs and 10 readers for each run: the memory of one reader, and the CPU time of passing one
// text delta to one reader. The baseline is a reader that gets the events of an array through promises.
import { collectGarbage, compare } from "../measure.js";
import { dist } from "../turnwright.js";

/** @type {typeof import("../../../src/host/index.ts")} */
const { createRunHost } = await import(new URL("host.js", dist).href);

/** @typedef {import("../../../src/core/index.ts").Provider} Provider */
/** @typedef {import("../../../src/host/index.ts").HostedEvent} HostedEvent */

const runs = 100;
const readersOfRun = 10;
const deltas = 200;
let conversations = 0;

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const { minimal, turnwright } = await compare({ minimal: byHand, turnwright: () => readRuns(readersOfRun) });
  const alone = await compare({ minimal: byHand, turnwright: () => readRuns(0) });
  const passed = runs * readersOfRun * deltas;
  return [
    {
      workload: "1,000 readers of 100 live runs, memory of a reader",
      unit: "KB",
      turnwright: (await bytesOfReader()) / 1024,
      target: { of: "turnwright", atMost: 64 },
    },
    {
      workload: "text delta to a reader of a hosted run",
      unit: "us",
      minimal: (minimal * 1000) / passed,
      turnwright: ((turnwright - alone.turnwright) * 1000) / passed,
      target: { of: "turnwright", atMost: 2 },
    },
  ];
}

/** The runs stream no text before `begin` is called, and do not end before `release` is called. */
async function startRuns() {
  const host = createRunHost({ keepMs: 0 });
  const begun = gate();
  const released = gate();
  const ids = Array.from({ length: runs }, () => `readers ${(conversations += 1)}`);
  for (const id of ids) await host.start(id, { provider: talker(begun.opened, released.opened), message: "Go." });
  return { host, ids, begin: begun.open, release: released.open };
}

/** @returns {{ opened: Promise<void>, open: () => void }} */
function gate() {
  let open = () => {};
  /** @type {Promise<void>} */
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}

/**
 * @param {Promise<void>} begun
 * @param {Promise<void>} released
 * @returns {Provider}
 */
function talker(begun, released) {
  return {
    id: "talker",
    model: "talker",
    async *stream() {
      await begun;
      for (let index = 0; index < deltas; index += 1) {
        yield { type: "text-delta", text: "token " };
        // Gives the readers a turn after each delta, as a real provider does.
        await nextTick();
      }
      await released;
      yield { type: "text-delta", text: "The end." };
      yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, mode: "snapshot" };
      yield { type: "finish", reason: "stop" };
    },
  };
}

async function bytesOfReader() {
  const { host, ids, begin, release } = await startRuns();
  begin();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await sweep();
  const before = process.memoryUsage().heapUsed;
  const reading = ids.flatMap((id) => Array.from({ length: readersOfRun }, () => read(join(host, id))));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await sweep();
  const bytes = (process.memoryUsage().heapUsed - before) / reading.length;
  release();
  await Promise.all(reading);
  await host.close();
  return bytes;
}

async function sweep() {
  for (let count = 0; count < 3; count += 1) {
    collectGarbage();
    await nextTick();
  }
}

/** @returns {Promise<void>} */
function nextTick() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** @param {number} count */
async function readRuns(count) {
  const { host, ids, begin, release } = await startRuns();
  const reading = ids.flatMap((id) => Array.from({ length: count }, () => read(join(host, id))));
  release();
  begin();
  const counts = await Promise.all(reading);
  if (counts.some((passed) => passed !== deltas + 1)) throw new Error("Text deltas were lost or joined.");
  for (const id of ids) while ((await host.status(id))?.isLive) await nextTick();
  await host.close();
}

/**
 * @param {import("../../../src/host/index.ts").RunHost} host
 * @param {string} id
 */
function join(host, id) {
  const stream = host.join(id);
  if (stream === undefined) throw new Error("The host does not know the run.");
  return stream;
}

/** @param {AsyncIterable<HostedEvent>} stream */
async function read(stream) {
  let count = 0;
  for await (const { event } of stream) if (event.type === "text-delta") count += 1;
  return count;
}

async function byHand() {
  const event = { type: "text-delta", text: "token " };
  const items = Array.from({ length: deltas }, (_, index) => ({ id: `run-${index}`, event }));
  const reading = Array.from({ length: runs * readersOfRun }, async () => {
    let length = 0;
    for (const item of items) length += (await Promise.resolve(item)).event.text.length;
    return length;
  });
  await Promise.all(reading);
}
