import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  test: {
    include: ["test/package/*.test.ts"],
    globalSetup: ["test/package/pack.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    update: "none",
    // Node imports the build as it is.
    server: { deps: { external: [/\/dist\//] } },
    // Many of these tests wait for the programs that they start.
    maxWorkers: 2,
  },
};

export default config;
