// Runs the tests of the loop on the new core: npx vitest run --config vitest.seam.config.ts test/loop/approvals.test.ts

import type { ViteUserConfig } from "vitest/config";

const translated: string = new URL("test/core/translated.ts", import.meta.url).pathname;

const config: ViteUserConfig = {
  resolve: { tsconfigPaths: true },
  plugins: [
    {
      name: "new-core",
      enforce: "pre",
      resolveId: (source, importer) =>
        source.endsWith("/run-tool-loop.ts") && /src\/core\/(?:index|loop\/[^/]+)\.ts$/.test(importer ?? "") ? translated : null,
    },
  ],
  test: {
    globalSetup: ["test/prepare.ts"],
    include: [
      "test/{loop,handoffs,guardrails,compaction,prompt-cache,tool-search}/**/*.test.ts",
      "src/team/*.test.ts",
      "src/deliberate/*.test.ts",
    ],
    setupFiles: ["src/core/index.ts", "test/fail-on-warning.ts", "test/all-edges.ts", "test/fail-on-async-hooks.ts"],
    testTimeout: 8_000,
    maxWorkers: "100%",
    isolate: true,
  },
};

export default config;
