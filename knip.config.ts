// Finds files, exports and dependencies that nothing uses; with --production, also those that only tests use.

import type { KnipConfig } from "knip";
import { entries } from "./scripts/entries.ts";

const config: KnipConfig = {
  entry: [
    ...entries.map(({ source }) => `${source}!`),
    "src/core/observe-kit.ts!",
    "src/core/entry-kit.ts!",
    "examples/*.ts",
    "examples/*/main.ts",
    "examples/web-chat/page/page.tsx",
    "test/web-chat/serve-child.ts",
    "scripts/*.ts",
    "test/package/consumer/types/*.ts",
  ],
  // A test may look at a function that its own file uses.
  ignoreExportsUsedInFile: true,
  project: ["src/**/*.ts!", "!src/**/*.test.ts!", "test/**/*.ts", "examples/**/*.{ts,tsx}", "scripts/**/*.ts"],
  vitest: { config: ["vitest.config.ts", "test/package/vitest.config.ts"] },
  ignoreBinaries: ["mkfifo"],
  // The programs of these two are called by scripts/check.ts.
  ignoreDependencies: ["@arethetypeswrong/cli", "publint"],
};

export default config;
