// Finds files, exports and dependencies that nothing uses; with --production, also those that only tests use.

import type { KnipConfig } from "knip";
import { entries } from "./scripts/entries.ts";

const config: KnipConfig = {
  entry: [
    ...entries.map(({ source }) => `${source}!`),
    "examples/*.ts",
    "examples/*/main.ts",
    "examples/tutorial/*.ts",
    "examples/web-chat/page/page.tsx",
    // Programs of the projects that `turnwright create` makes.
    "examples/create/*/{src/{main,worker,job},test/*}.ts",
    "examples/create/chat-page/src/page/page.tsx",
    "site/playground/page.tsx",
    // Nothing runs it, because its exporter is not installed.
    "examples/snippets/otlp.ts",
    // Named in text that site/bundle-playground.ts gives to the bundler.
    "site/playground/create-hash.ts",
    "src/inspect/ui/main.tsx!",
    // The loop that takes middleware, and middleware, which no entry exports yet.
    "src/core/loop/run-tool-loop.ts!",
    "src/core/middleware/*.ts!",
    "src/middleware/prompt-cache/middleware.ts!",
    "test/web-chat/serve-child.ts",
    "test/conversation/die-in-chat.ts",
    "scripts/*.ts",
    // Programs that the tests start with Node 22, and the modules that these import by name.
    "test/restate/{measure-faults,run-checks,worker-process}.ts",
    "test/restate/*-checks.ts",
    "test/package/consumer/types/*.ts",
  ],
  // Parts of other projects, which scripts/test-frameworks.ts builds.
  ignore: ["examples/in-a-server/frameworks/**"],
  // A test may look at a function that its own file uses.
  ignoreExportsUsedInFile: true,
  project: [
    "src/**/*.{ts,tsx}!",
    "!src/**/*.test.ts!",
    "test/**/*.ts",
    "examples/**/*.{ts,tsx}",
    "scripts/**/*.ts",
    "site/*.ts",
    "site/playground/*.{ts,tsx}",
  ],
  vitest: { config: ["vitest.config.ts", "test/package/vitest.config.ts", "site/vitest.config.ts"] },
  ignoreBinaries: ["mkfifo"],
  ignoreDependencies: [
    "@opentelemetry/exporter-trace-otlp-http",
    // The programs of the first two are called by scripts/check.ts, and the server by test/restate.
    "@arethetypeswrong/cli",
    "publint",
    "@restatedev/restate-server",
    // The editor of the playground, in site/package.json.
    "codemirror",
    "@codemirror/lang-javascript",
    // Older SDKs, which test/package/sdk-versions.test.ts links by folder name.
    "anthropic-0",
    "genai-2",
  ],
};

export default config;
