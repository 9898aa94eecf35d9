import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ChildServer {
  readonly url: string;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
}

/** Starts the chat server in another process. Its model hangs after a number of words. */
export async function startChild(folder: string, words: number): Promise<ChildServer> {
  const script = fileURLToPath(new URL("serve-child.ts", import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", script, folder, String(words)], {
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
