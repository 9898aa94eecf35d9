// Tests the built site in Chromium: `npm run site`, then `npm run site:test`.

import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = { test: { include: ["site/*.test.ts"], testTimeout: 60_000 } };

export default config;
