// Runs the tests of what is published. They need `npm run build` first.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/package/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 },
});
