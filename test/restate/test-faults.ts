// The long form of `faults.test.ts`, as a program. Starts `measure-faults.ts` with Node 22. The first argument is the seed of the
// faults.

import { once } from "node:events";
import { startProgram, whyNot } from "./checks.ts";

const why = whyNot();
if (why === undefined) {
  const child = startProgram("measure-faults.ts", process.argv.slice(2));
  child.stdout?.pipe(process.stdout);
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} else console.log(`The tests with Restate did not run: ${why}.`);
