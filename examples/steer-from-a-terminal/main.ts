// Talk to a run from a terminal while it works. Typed lines steer the run, and commands stop, kill or suspend it. A suspended run
// can continue later, even in another process. To open a session, run `npx tsx examples/steer-from-a-terminal/main.ts --start`.
// Without `--start`, the example checks itself.

import { setTimeout as sleep } from "node:timers/promises";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { checkSession } from "./check-session.ts";
import { createScriptedCook, createTimer } from "./kitchen.ts";
import { openRunFile } from "./run-file.ts";
import { openScreen } from "./screen.ts";
import { runSession } from "./session.ts";

if (process.argv.includes("--start")) {
  const { stdin, stdout } = process;
  const timer = createTimer((ms, signal) => sleep(ms, undefined, { signal }));
  const provider = providerFromEnvironment() ?? createScriptedCook();
  const file = openRunFile(".cache/suspended-run.json");
  const saved = await file.load().catch((error: unknown) => {
    console.error(`${file.path} does not contain a suspended run (${String(error)}). Remove the file, and start again.`);
    process.exit(1);
  });
  const screen = openScreen({ input: stdin, output: stdout, isTerminal: stdin.isTTY && stdout.isTTY });
  screen.print(`${provider.model} cooks. Say for instance: Make breakfast, please. And while it works: No toast.`);
  await runSession({ provider, tools: [timer], screen, file }, saved);
} else {
  await checkSession();
}
