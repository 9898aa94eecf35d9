// The new core on Restate: random programs that are killed at random steps, waits and timers.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { workflow, type WorkflowContext, type WorkflowSharedContext } from "@restatedev/restate-sdk";
import { connect, type Ingress } from "@restatedev/restate-sdk-clients";
import type { Json, Message } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { ToolContext } from "turnwright";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import type { ShownWait, WorkflowPorts } from "../../src/host/durable/run-in-engine.ts";
import { readWaits, runInWorkflow, sendAnswer } from "../../src/restate/run-in-workflow.ts";
import { answerUntil, createEngineProgram, type EngineDoor } from "../core/engine-programs.ts";
import type { Check } from "./checks.ts";
import { type Endpoint, serve } from "./serve.ts";
import { type RestateServer, startRestate } from "./start-restate.ts";

type Execute = (ports: WorkflowPorts) => Promise<LoopResult>;

let server: RestateServer;
let endpoint: Endpoint;
let ingress: Ingress;

const executes = new Map<string, Execute>();

const stepRun = workflow({
  name: "steps",
  handlers: {
    async run(ctx: WorkflowContext): Promise<readonly Message[]> {
      const execute = executes.get(ctx.key);
      if (execute === undefined) throw new Error(`unknown ${ctx.key}`);
      const { messages } = await runInWorkflow(ctx, execute);
      return messages;
    },
    waits: (ctx: WorkflowSharedContext): Promise<readonly ShownWait[]> => readWaits(ctx),
    answer: (ctx: WorkflowSharedContext, { id, value }: { id: string; value: Json }): Promise<void> => sendAnswer(ctx, id, value),
  },
  options: { retryPolicy: { initialInterval: 10, exponentiationFactor: 1, maxInterval: 10, maxAttempts: 40 } },
});

export async function begin(): Promise<void> {
  server = await startRestate();
  endpoint = await serve([stepRun], server.adminUrl);
  ingress = connect({ url: server.ingressUrl });
}

export async function end(): Promise<void> {
  await server.stop();
  await endpoint.stop();
}

const clientOf = (id: string): ReturnType<typeof ingress.workflowClient<typeof stepRun>> => ingress.workflowClient(stepRun, id);

const door: EngineDoor = {
  waits: async (id) => clientOf(id).waits(),
  answer: async (id, wait, value) => clientOf(id).answer({ id: wait, value }),
};

async function start(id: string, execute: Execute): Promise<{ readonly end: Promise<readonly Message[]> }> {
  executes.set(id, execute);
  await clientOf(id).workflowSubmit();
  return { end: clientOf(id).workflowAttach() };
}

async function checkProgram(seed: number): Promise<void> {
  const program = createEngineProgram(seed, 2);
  const id = `program-${seed}`;
  const { end: whenEnded } = await start(id, program.execute);
  await program.check(await answerUntil(door, id, { end: whenEnded, program }));
}

async function checkPrograms(): Promise<void> {
  const count = Number(process.env["PROGRAMS"] ?? 2);
  await Promise.all(Array.from({ length: count }, (_, index) => checkProgram(index + 50)));
}

const later = {
  name: "later",
  description: "later",
  inputSchema: { type: "object" },
  durable: true,
  execute: async (_: unknown, { step, wait }: ToolContext) => {
    const until = await step("until", () => Date.now() + 300);
    return [await wait("timer", {}, { until }), await wait("question", { q: 1 })];
  },
} as never;

async function checkTimer(): Promise<void> {
  const provider = createMockProvider([toolCall("later"), text("Done.")]);
  const messages = [{ role: "user", content: "Go." }] as const;
  const { end: whenEnded } = await start("timed", (ports) => runToolLoop({ provider, tools: [later], messages, ...ports }));
  await rejects(door.answer("timed", "nothing", 1), /is not waiting for a decision/);
  const questions: EngineDoor = {
    ...door,
    waits: async (id) => (await door.waits(id)).filter(({ what }) => what === "question"),
  };
  const told = await answerUntil(questions, "timed", { end: whenEnded, program: { answer: () => "yes" } });
  const results = told.flatMap((message) => (message.role === "tool" ? message.results.map(({ result }) => result) : []));
  deepEqual(results, [[null, "yes"]]);
  equal((await clientOf("timed").waits()).length, 0);
}

async function checkCancel(): Promise<void> {
  let begun: () => void = () => {};
  let aborted: () => void = () => {};
  const whenBegun = new Promise<void>((resolve) => (begun = resolve));
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
  const provider = createMockProvider([toolCall("slow"), text("Done.")]);
  const messages = [{ role: "user", content: "Go." }] as const;
  executes.set("cancelled", (ports) => runToolLoop({ provider, tools: [slow], messages, ...ports }));
  const { invocationId } = await clientOf("cancelled").workflowSubmit();
  await whenBegun;
  await fetch(`${server.adminUrl}/invocations/${invocationId}/cancel`, { method: "PATCH" });
  await whenAborted;
  await rejects(async () => clientOf("cancelled").workflowAttach(), /ancelled/);
}

export const checks: readonly Check[] = [
  { title: "random programs that are killed at random steps end with the messages of a run in memory", run: checkPrograms },
  { title: "a timer ends in the workflow, and only an answer to an open wait is accepted", run: checkTimer },
  { title: "cancelling a workflow aborts its tool and ends the workflow", run: checkCancel },
];
