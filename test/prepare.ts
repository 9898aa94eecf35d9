// Prepares all tests. Builds the page of turnwright/inspect, which renderRunPage loads, and the entries for programs that tests
// start.

import type { TestProject } from "vitest/node";
import { bundleEntries } from "../scripts/bundle-entries.ts";

/** Each project of vitest.config.ts calls this function. The first call prepares all projects. */
export async function setup(project: TestProject): Promise<(() => void) | undefined> {
  if (process.env["TSX_TSCONFIG_PATH"] !== undefined) return undefined;
  await import("../scripts/build-page.ts");
  let remove = await bundleEntries();
  project.onTestsRerun(async () => {
    remove();
    remove = await bundleEntries();
  });
  return () => remove();
}
