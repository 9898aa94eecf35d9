import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { programLoader } from "../scripts/program-loader.ts";

export interface ChildServer {
  readonly url: string;
  kill(): Promise<void>;
}

/** Runs a script in another process. The first line that the script prints must be the URL of its server. */
export async function startChild(script: URL, ...args: readonly string[]): Promise<ChildServer> {
  const child: ChildProcess = spawn(process.execPath, ["--import", programLoader(), fileURLToPath(script), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("The child has no output.");
  const lines = createInterface(child.stdout);
  const ended = once(child, "exit");
  const [url] = (await Promise.race([
    once(lines, "line"),
    ended.then(() => Promise.reject(new Error("The server did not start."))),
  ])) as [string];
  return {
    url,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
      lines.close();
    },
  };
}
