// Starts processes that hold journal files open until they are killed. Several processes can start together, so that they race.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { makeFolder } from "./folder.ts";

export interface WriterProcess {
  readonly pid: number | undefined;
  open(path: string): Promise<string>;
  kill(): Promise<void>;
}

const contents = `import { createInterface } from "node:readline";
  import { fileJournal } from "turnwright/journal";
  const held = [];
  createInterface({ input: process.stdin }).on("line", (path) =>
    fileJournal(path).open().then((close) => console.log("open", held.push(close)), (error) => console.log(error.code)));
  console.log(process.pid);`;

const unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

/** True if a process can have its own PID namespace here: on Linux, as root. */
export const canUnshare: boolean = ((): boolean => {
  try {
    const [program, ...parameters] = unshare;
    execFileSync(program, [...parameters, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** Starts a process that opens journal files on request. The process is killed when the test ends, or earlier. */
export async function startWriter({ isContained = false }: { readonly isContained?: boolean } = {}): Promise<WriterProcess> {
  const program = join(makeFolder(), "writer.mjs");
  await build({ stdin: { contents, resolveDir: resolve(".") }, outfile: program, bundle: true, platform: "node", format: "esm" });
  const [command, ...parameters] = [...(isContained ? unshare : []), process.execPath, program];
  const child = spawn(command, parameters, { stdio: ["pipe", "pipe", "inherit"] });
  const dead = once(child, "exit");
  const words = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await dead;
  };
  onTestFinished(kill);
  const { value: pid } = await words.next();
  return {
    pid: isContained ? child.pid : Number(pid),
    async open(path) {
      child.stdin.write(`${path}\n`);
      return String((await words.next()).value).split(" ")[0] ?? "";
    },
    kill,
  };
}
