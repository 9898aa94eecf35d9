// Measures the cost of one text delta, for an event listener and for `for await` over the events.
import { compare, repeat } from "../measure.js";
import { talkingModel } from "../scripts.js";
import { forecast, minimalRun, turnwrightOptions, turnwrightRun } from "../subjects.js";
import { streamToolLoop } from "../turnwright.js";

/** @typedef {import("../row.js").Row} Row */

const deltas = 100_000;
const runs = 4;
const stream = talkingModel(deltas);

/** @returns {Promise<readonly Row[]>} */
export async function measureWorkload() {
  return [
    await toRow("text delta, listener of runToolLoop", turnwrightRun(stream, forecast)),
    await toRow("text delta, for await over streamToolLoop", iteratedRun()),
  ];
}

/**
 * @param {string} workload
 * @param {import("../measure.js").Task} turnwrightTask
 * @returns {Promise<Row>}
 */
async function toRow(workload, turnwrightTask) {
  const { minimal, turnwright, ratio } = await compare({
    minimal: repeat(runs, minimalRun(stream, forecast)),
    turnwright: repeat(runs, turnwrightTask),
  });
  return {
    workload,
    unit: "us",
    minimal: (minimal * 1000) / (deltas * runs),
    turnwright: (turnwright * 1000) / (deltas * runs),
    ratio,
    target: { of: "ratio", atMost: 2 },
  };
}

function iteratedRun() {
  const options = turnwrightOptions(stream, forecast);
  return async () => {
    let received = 0;
    for await (const event of streamToolLoop(options)) {
      if (event.type === "text-delta") received += event.text.length;
    }
    if (received !== deltas * "token ".length) throw new Error("Deltas were lost.");
  };
}
