// Prepares all tests. Builds the page of turnwright/inspect, which renderRunPage loads, and compiles the programs that
// tests start.

import type { TestProject } from "vitest/node";
import { compilePrograms } from "../scripts/compile-programs.ts";

/** Each project of vitest.config.ts calls this function. The first call prepares all projects. */
export async function setup(project: TestProject): Promise<(() => void) | undefined> {
  if (process.env["PROGRAM_LOADER"] !== undefined) return undefined;
  await import("../scripts/build-page.ts");
  let remove = await compilePrograms();
  project.onTestsRerun(async () => {
    remove();
    remove = await compilePrograms();
  });
  return () => remove();
}
