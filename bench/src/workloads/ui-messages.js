// Measures the conversion of one text delta, to a chunk of the UI message stream and to an AG-UI event. The baseline creates the
// chunk without a converter.
import { compare } from "../measure.js";
import { dist } from "../turnwright.js";

/** @type {typeof import("../../../src/ui-message-stream/index.ts")} */
const { createUIMessageMapper } = await import(new URL("ui-message-stream.js", dist).href);

/** @type {typeof import("../../../src/ag-ui/index.ts")} */
const { createAGUIMapper } = await import(new URL("ag-ui.js", dist).href);

/** @typedef {import("../../../src/core/index.ts").LoopEvent} LoopEvent */

const deltas = 1_000_000;
const base = { runId: "run", iteration: 0 };
/** @type {readonly LoopEvent[]} */
const opening = [
  { type: "run-start", ...base, provider: "mock", model: "mock" },
  { type: "iteration-start", ...base, continuation: 0 },
];
/** @type {readonly LoopEvent[]} */
const fragments = ["to", "ken", " ", "by", " token"].map((text) => ({ type: "text-delta", ...base, text, replayed: undefined }));

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const toChunks = await compare({ minimal: byHand, turnwright: () => map(createUIMessageMapper({ version: 7 })) });
  const toEvents = await compare({ minimal: byHand, turnwright: () => map(createAGUIMapper()) });
  return [toRow("text delta to a chunk for `useChat`", toChunks), toRow("text delta to an AG-UI event", toEvents)];
}

/**
 * @param {string} workload
 * @param {Awaited<ReturnType<typeof compare>>} measured
 * @returns {import("../row.js").Row}
 */
function toRow(workload, { minimal, turnwright, ratio }) {
  const toUs = (/** @type {number} */ ms) => (ms * 1000) / deltas;
  return {
    workload,
    unit: "us",
    minimal: toUs(minimal),
    turnwright: toUs(turnwright),
    ratio,
    target: { of: "turnwright", atMost: 1 },
  };
}

/** @param {{ map(event: LoopEvent): readonly unknown[] }} mapper */
function map(mapper) {
  for (const event of opening) mapper.map(event);
  let chunks = 0;
  for (let index = 0; index < deltas; index += 1) {
    const event = fragments[index % fragments.length];
    if (event !== undefined) chunks += mapper.map(event).length;
  }
  if (chunks !== deltas + 1) throw new Error("Chunks were lost.");
}

function byHand() {
  let chunks = 0;
  for (let index = 0; index < deltas; index += 1) {
    const event = fragments[index % fragments.length];
    if (event?.type === "text-delta") chunks += [{ type: "text-delta", id: "text-0", delta: event.text }].length;
  }
  if (chunks !== deltas) throw new Error("Chunks were lost.");
}
