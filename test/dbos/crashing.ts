// A durable loop whose tool ends the process, as a crash of a native module would. If this file is run as a program, it is a worker
// for this loop. Its argument is the URL of the database.

import { pathToFileURL } from "node:url";
import { defineTool } from "turnwright";
import { defineDurableLoop, type DurableLoop, launchWorker } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const crash = defineTool({
  name: "crash",
  description: "Ends the process",
  inputSchema: { type: "object" },
  replay: "safe",
  execute: () => {
    process.kill(process.pid, "SIGKILL");
  },
});

export function defineCrashing(): DurableLoop<{ readonly crashes: boolean }> {
  return defineDurableLoop({
    name: "crashing",
    maxCrashes: 1,
    options: ({ crashes }: { readonly crashes: boolean }) => ({
      provider: createMockProvider(({ iteration }) => (crashes && iteration === 0 ? toolCall("crash", {}) : text("Done."))),
      tools: [crash],
      messages: [{ role: "user" as const, content: "Go." }],
    }),
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [databaseUrl = ""] = process.argv.slice(2);
  defineCrashing();
  await launchWorker({ databaseUrl });
  console.log("ready");
}
