// The new core on DBOS: random programs that are killed at random steps, waits, timers and cancellation.

import { AsyncResource } from "node:async_hooks";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Message } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { programLoader } from "../../scripts/program-loader.ts";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { ToolContext } from "turnwright";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import { readWaits, runInWorkflow, sendAnswer } from "../../src/dbos/run-in-workflow.ts";
import type { WorkflowPorts } from "../../src/host/durable/run-in-engine.ts";
import { answerUntil, compareWithMemory, createEngineProgram, type EngineDoor, Killed } from "../core/engine-programs.ts";

let postgres: Postgres;

type Execute = (ports: WorkflowPorts) => Promise<LoopResult>;

const executes = new Map<string, Execute>();
const ends = new Map<string, (messages: readonly Message[]) => void>();

/** Runs code outside the workflow that it is called in. */
const outside = new AsyncResource("outside");

const stepRun = DBOS.registerWorkflow(
  async (): Promise<void> => {
    const id = DBOS.workflowID ?? "";
    const execute = executes.get(id);
    if (execute === undefined) throw new Error(`unknown ${id}`);
    try {
      const { messages } = await runInWorkflow(execute);
      ends.get(id)?.(messages);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      outside.runInAsyncScope(() => resume(id)).catch((failed: unknown) => console.error(failed));
      // This execution never ends, as if its process had died.
      await new Promise(() => {});
    }
  },
  { name: "stepRun" },
);

beforeAll(async () => {
  postgres = await startPostgres();
  DBOS.setConfig({ name: "steps", systemDatabaseUrl: postgres.url, applicationVersion: "1", executorID: "a", logLevel: "error" });
  await DBOS.launch();
  await DBOS.registerQueue("steps", { minPollingIntervalMs: 20 });
}, 60_000);

afterAll(async () => {
  await DBOS.shutdown();
  await postgres.stop();
});

async function resume(id: string): Promise<void> {
  await DBOS.cancelWorkflow(id);
  await DBOS.resumeWorkflow(id, { queueName: "steps" });
}

async function start(id: string, execute: Execute): Promise<Promise<readonly Message[]>[]> {
  executes.set(id, execute);
  const end = new Promise<readonly Message[]>((resolve) => ends.set(id, resolve));
  await DBOS.startWorkflow(stepRun, { workflowID: id })();
  return [end];
}

const door: EngineDoor = { waits: (id) => readWaits(id), answer: sendAnswer };

const programs = Number(process.env["PROGRAMS"] ?? 2);

test("DBOS: random programs that are killed at random steps end with the same messages as a run in memory", async () => {
  const check = async (seed: number): Promise<void> => {
    const program = createEngineProgram(seed, 2);
    const id = `program-${seed}`;
    const [end = Promise.reject(new Error("no end"))] = await start(id, program.execute);
    await program.check(await answerUntil(door, id, { end, program }));
  };
  await Promise.all(Array.from({ length: programs }, (_, index) => check(index + 50)));
}, 60_000);

const asksLater = {
  name: "later",
  description: "later",
  inputSchema: { type: "object" },
  durable: true,
  execute: async (_: unknown, { step, wait }: ToolContext) => {
    const until = await step("until", () => Date.now() + 300);
    return [await wait("timer", {}, { until }), await wait("question", { q: 1 })];
  },
} as never;

const messages = [{ role: "user", content: "Go." }] as const;

test("DBOS: a wait times out in the workflow, and only an answer to an open wait is accepted", async () => {
  const provider = createMockProvider([toolCall("later"), text("Done.")]);
  const [end = Promise.reject(new Error("no end"))] = await start("timed", (ports) =>
    runToolLoop({ provider, tools: [asksLater], messages, ...ports }),
  );
  await expect(sendAnswer("timed", "nothing", 1)).rejects.toMatchObject({ code: "unknown-decision" });
  await DBOS.send("timed", "no answer", "turnwright answers");
  const program = { answer: () => "yes" };
  const told = await answerUntil(
    { waits: async (id) => (await readWaits(id)).filter(({ what }) => what === "question"), answer: sendAnswer },
    "timed",
    { end, program },
  );
  expect(told.find(({ role }) => role === "tool")).toMatchObject({ results: [{ result: [null, "yes"] }] });
  expect(await readWaits("timed")).toEqual([]);
});

test("DBOS: canceling a workflow aborts its tool, and the resumed workflow reports that the tool may have run", async () => {
  const provider = createMockProvider([toolCall("slow"), text("Done.")]);
  let begun: () => void = () => {};
  const began = new Promise<void>((resolve) => (begun = resolve));
  let aborted: () => void = () => {};
  const whenAborted = new Promise<void>((resolve) => (aborted = resolve));
  const slow = {
    name: "slow",
    description: "slow",
    inputSchema: { type: "object" },
    execute: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener("abort", () => aborted());
      begun();
      return new Promise(() => {});
    },
  } as never;
  const [end] = await start("cancelled", (ports) => runToolLoop({ provider, tools: [slow], messages, ...ports }));
  await began;
  await DBOS.cancelWorkflow("cancelled");
  await whenAborted;
  await new Promise((resolve) => setTimeout(resolve, 300));
  await DBOS.resumeWorkflow("cancelled", { queueName: "steps" });
  expect((await end)?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
});

interface Life {
  readonly signal: string | null;
  readonly printed: string;
}

async function live(...args: readonly (string | number)[]): Promise<Life> {
  const file = fileURLToPath(new URL("step-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-deprecation", "--import", programLoader(), file, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString("utf8")));
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  return { signal, printed };
}

test("DBOS: another process continues after kill -9", async () => {
  const own = await startPostgres();
  try {
    const seed = 58;
    expect((await live(own.url, "killed", seed, 20)).signal).toBe("SIGKILL");
    const { printed } = await live(own.url, "killed", seed, 0);
    const { messages: told } = JSON.parse(printed) as { readonly messages: readonly Message[] };
    await compareWithMemory(told, seed);
  } finally {
    await own.stop();
  }
}, 60_000);

test("DBOS: runInWorkflow throws outside a workflow", async () => {
  await expect(runInWorkflow(() => Promise.reject(new Error("never")))).rejects.toMatchObject({ code: "invalid-option" });
});
