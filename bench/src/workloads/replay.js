// Measures the replay of a run from its journal file. The baseline only reads the file and parses its lines. Also compares the
// cost per iteration of long and short runs.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, median, repeat, rounds, wallOf } from "../measure.js";
import { callingModel } from "../scripts.js";
import { forecast, turnwrightOptions } from "../subjects.js";
import { fileJournal, memoryJournal, replayJournal, runToolLoop } from "../turnwright.js";

/** @typedef {import("../row.js").Row} Row */
/** @typedef {import("../measure.js").Task} Task */

const short = 100;
const long = 5000;
const usual = 1000;
const many = 2000;

/** @returns {Promise<readonly Row[]>} */
export async function measureWorkload() {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-bench-"));
  try {
    return [
      await toCostRow(join(folder, "usual.jsonl")),
      await toWallRow("memory", await recordInMemory(many)),
      await toWallRow("a file", await record(join(folder, "many.jsonl"), many)),
      await toGrowthRow(folder),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} path
 * @returns {Promise<Row>}
 */
async function toCostRow(path) {
  const replay = await record(path, usual);
  const { minimal, turnwright, ratio } = await compare({
    minimal: repeat(5, () => parseLines(path)),
    turnwright: repeat(5, replay),
  });
  const count = 5 * usual;
  return {
    workload: "replay from a file, 1,000 iterations (minimal: its lines parsed)",
    unit: "us",
    minimal: (minimal * 1000) / count,
    turnwright: (turnwright * 1000) / count,
    ratio,
  };
}

/**
 * @param {string} place
 * @param {Task} replay
 * @returns {Promise<Row>}
 */
async function toWallRow(place, replay) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) times.push(await wallOf(replay));
  return {
    workload: `replay of 2,000 iterations from ${place}, wall`,
    unit: "ms",
    turnwright: median(times),
    target: { of: "turnwright", atMost: 2000 },
  };
}

/**
 * Keeps all results, so that many short runs use as much memory as one long run.
 *
 * @param {string} folder
 * @returns {Promise<Row>}
 */
async function toGrowthRow(folder) {
  const replay = await record(join(folder, "short.jsonl"), short);
  const replayAll = async () => {
    const results = [];
    for (let index = 0; index < long / short; index += 1) results.push(await replay());
    return results;
  };
  const { ratio } = await compare({ minimal: replayAll, turnwright: await record(join(folder, "long.jsonl"), long) });
  return {
    workload: "replay of an iteration: runs of 5,000 divided by runs of 100",
    unit: "x",
    turnwright: ratio,
    target: { of: "turnwright", atMost: 1.5 },
  };
}

/**
 * Records a run of `count` iterations in a journal file. Returns a task that replays the run.
 *
 * @param {string} path
 * @param {number} count
 * @returns {Promise<Task>}
 */
async function record(path, count) {
  const options = { ...turnwrightOptions(callingModel(count), forecast), runId: path, limits: { maxIterations: count } };
  await runToolLoop({ ...options, journal: fileJournal(path, { fsync: false }) });
  return async () => {
    const result = await runToolLoop({ ...options, journal: replayJournal(fileJournal(path)) });
    if (result.iterations !== count) throw new Error(`A replay had ${result.iterations} iterations.`);
    return result;
  };
}

/**
 * Records a run of `count` iterations in memory. Returns a task that continues the run from the saved journal.
 *
 * @param {number} count
 * @returns {Promise<Task>}
 */
async function recordInMemory(count) {
  const options = { ...turnwrightOptions(callingModel(count), forecast), limits: { maxIterations: count } };
  const journal = memoryJournal();
  await runToolLoop({ ...options, journal });
  const saved = JSON.stringify(journal);
  return async () => {
    const result = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(saved)) });
    if (result.iterations !== count) throw new Error(`A replay had ${result.iterations} iterations.`);
    return result;
  };
}

/** @param {string} path */
function parseLines(path) {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
