// Counts the functions of a loop that a run with two requests and one call executes.
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { callingModel } from "../scripts.js";
import { forecastAtOnce, minimalRun, turnwrightRun } from "../subjects.js";
import { dist } from "../turnwright.js";

const isMinimal = process.argv[2] === "minimal";
const place = isMinimal ? new URL("../minimal-loop.js", import.meta.url).href : dist.href;
const task = (isMinimal ? minimalRun : turnwrightRun)(callingModel(2), forecastAtOnce);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await task();
const { result } = await session.post("Profiler.takePreciseCoverage");
const own = result.filter(({ url }) => url.startsWith(place) || url === fileURLToPath(place));
const executed = own.map(({ functions }) => functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length);
console.log(JSON.stringify({ functions: executed.reduce((sum, count) => sum + count, 0) }));
