// Prepares the examples, and the programs that tests start.

import { compilePrograms } from "./compile-programs.ts";

/**
 * Builds the page of turnwright/inspect, which is not in the repository, and compiles the programs. Returns a function that removes the
 * programs. Does nothing if scripts/check.ts has done it for all gates.
 */
export async function preparePrograms(): Promise<() => void> {
  if (process.env["PROGRAM_LOADER"] !== undefined) return () => {};
  await import("./build-page.ts");
  return compilePrograms();
}
