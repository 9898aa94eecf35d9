// The cost of converting one text delta to a chunk of the UI message stream. For comparison, the minimal loop creates the same
// chunk directly.
import { compare } from "../measure.js";
import { dist } from "../turnwright.js";

/** @type {typeof import("../../../src/ui-message-stream/index.ts")} */
const { createUIMessageMapper } = await import(new URL("ui-message-stream.js", dist).href);

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
  const { minimal, turnwright, ratio } = await compare({ minimal: byHand, turnwright: byMapper });
  return [
    {
      workload: "text delta to a chunk for `useChat`",
      unit: "us",
      minimal: (minimal * 1000) / deltas,
      turnwright: (turnwright * 1000) / deltas,
      ratio,
      target: { of: "turnwright", atMost: 1 },
    },
  ];
}

function byMapper() {
  const mapper = createUIMessageMapper({ version: 7 });
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
