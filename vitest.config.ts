// Runs the tests beside the sources and the whole-run scenarios. What needs a build is in test/package/vitest.config.ts.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { ViteUserConfig } from "vitest/config";
import { browserTests, findChromium, noChromium } from "./test/find-chromium.ts";

const needsBrowser = findChromium() === undefined ? [browserTests] : [];
if (needsBrowser.length > 0) console.warn(noChromium);

/** Files that use a vendor's mock, engine or browser driver that keeps async hooks on: each promise of their process becomes up to 20 times as slow. */
const slowing = [
  ...(needsBrowser.length > 0 ? [] : [browserTests]),
  "test/dbos/*.test.ts",
  "test/restate/*.test.ts",
  "test/wire/aimock.test.ts",
  "test/wire/openai-chat-loop.test.ts",
  "test/plan/wire-rounds.test.ts",
];
const setupFiles = ["test/fail-on-async-hooks.ts"];

/** Vitest finds a changed file itself. These files change what the imports of an unchanged file mean. */
const meanings = createHash("sha256");
for (const file of ["package-lock.json", "tsconfig.json", "vitest.config.ts"]) meanings.update(readFileSync(file));

const config: ViteUserConfig = {
  // Tests and examples import what users import; it comes from the sources.
  resolve: { tsconfigPaths: true },
  test: {
    globalSetup: ["test/prepare.ts"],
    projects: [
      { extends: true, test: { name: "src", include: ["src/**/*.test.ts"], setupFiles, sequence: { groupOrder: 1 } } },
      {
        extends: true,
        test: {
          name: "test",
          include: ["test/**/*.test.ts"],
          exclude: ["test/package/**", "test/growth/**", ...slowing, ...needsBrowser],
          setupFiles,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "hooked",
          include: slowing,
          // A page may need several frames until it shows what a test expects.
          expect: { poll: { timeout: 10_000 } },
          globalSetup: ["test/dbos/share-postgres.ts"],
          // These mostly wait for the processes that they start.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 0 },
        },
      },
      // These read the clock: each file has a process to itself, after all others.
      { extends: true, test: { name: "growth", include: ["test/growth/*.test.ts"], isolate: true, sequence: { groupOrder: 2 } } },
    ],
    // All projects, and later test runs, use what one of them has compiled.
    experimental: { fsModuleCache: true, fsModuleCachePath: `.cache/modules/${meanings.digest("hex").slice(0, 16)}` },
    // Nothing here waits for real time; a property test on a busy machine may take its own.
    testTimeout: 60_000,
    reporters: ["default", "./scripts/rerun-reporter.ts"],
    maxWorkers: "100%",
    // Each test makes much that soon is garbage. With more room, Node collects it less often, which saves a tenth of the time.
    execArgv: ["--min-semi-space-size=16", "--max-semi-space-size=64"],
    // Test files leave nothing behind; loading everything anew for each would take half of the time.
    isolate: false,
    setupFiles: ["test/fail-on-warning.ts", "test/all-edges.ts"],
  },
};

export default config;
