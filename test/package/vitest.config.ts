import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  test: {
    include: ["test/package/*.test.ts"],
    globalSetup: ["test/package/pack.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    update: "none",
  },
};

export default config;
