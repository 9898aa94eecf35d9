// Two features that are not in turnwright, as middleware: permissions that are remembered across runs, and a quota that processes
// share. The process of the run is killed. Each question is asked once, and each call counts once. With --all, the process is killed at
// every point.

import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { checkRun } from "./check-run.ts";
import { type Ended, execute, type Execution } from "./execution.ts";

async function startProcess(execution: Execution): Promise<Ended | "killed"> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), JSON.stringify(execution)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  const said = await text(child.stdout);
  if ((await end) === "SIGKILL") return "killed";
  return JSON.parse(said) as Ended;
}

const [, , given = ""] = process.argv;
if (given.startsWith("{")) console.log(JSON.stringify(await execute(JSON.parse(given) as Execution)));
else {
  const points = await checkRun(startProcess);
  const all = Array.from({ length: points }, (_, index) => index + 1);
  const killed = given === "--all" ? all : [Math.ceil(points / 2)];
  for (const killAt of killed) await checkRun(startProcess, killAt);
  console.log(`The run was killed at ${killed.length} of ${points} points. Nobody was asked twice, and each call counted once.`);
}
