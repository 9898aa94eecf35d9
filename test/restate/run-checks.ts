// Runs the checks of a module, and prints one line of JSON for each check. The argument is the path of the module from this folder.

import { inspect } from "node:util";
import type { CheckEnd, CheckModule } from "./checks.ts";

const [file = ""] = process.argv.slice(2);
const { begin, checks, end } = (await import(new URL(file, import.meta.url).href)) as CheckModule;
await begin();
for (const { title, run } of checks) {
  let error: string | undefined;
  try {
    await run();
  } catch (thrown) {
    error = inspect(thrown);
  }
  console.log(JSON.stringify({ title, error } satisfies CheckEnd));
}
await end();
