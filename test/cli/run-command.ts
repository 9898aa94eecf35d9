import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import type { CliIO } from "../../src/cli/cli-io.ts";
import { runCli } from "../../src/cli/run-cli.ts";

export interface CommandEnd {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly notes: readonly string[];
  readonly opened: readonly string[];
}

export function makeCliFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function runCommand(cwd: string, args: readonly string[], how: Partial<CliIO> = {}): Promise<CommandEnd> {
  const out: string[] = [];
  const notes: string[] = [];
  const opened: string[] = [];
  const exitCode = await runCli(args, {
    cwd,
    env: {},
    isTerminal: true,
    packageFolder: resolve("."),
    version: "1.2.3",
    stopSignal: () => new AbortController().signal,
    out: (line) => void out.push(line),
    note: (line) => void notes.push(line),
    open: (target) => opened.push(target) > 0,
    runSelf: async (ownArgs, { cwd: ownCwd, env, note, signal }) => {
      const end = await runCommand(ownCwd, ownArgs, { env, note, stopSignal: () => signal });
      return end.exitCode;
    },
    ...how,
  });
  return { exitCode, out, notes, opened };
}
