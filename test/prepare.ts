// Builds the page of turnwright/inspect before the tests, because renderRunPage loads it, and the entries for the programs that
// tests start.

import type { TestProject } from "vitest/node";
import { bundleEntries } from "../scripts/bundle-entries.ts";

/** Each project of vitest.config.ts calls this. The first call prepares all of them. */
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
