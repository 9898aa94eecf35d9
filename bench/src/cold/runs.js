// Makes two runs in a fresh process, and prints the duration of each run in milliseconds.
import { callingModel } from "../scripts.js";
import { forecastAtOnce, minimalRun, turnwrightRun } from "../subjects.js";

const run = process.argv[2] === "minimal" ? minimalRun : turnwrightRun;
const task = run(callingModel(3), forecastAtOnce);
const times = [];
for (let count = 0; count < 2; count += 1) {
  const start = performance.now();
  await task();
  times.push(performance.now() - start);
}
console.log(JSON.stringify(times));
