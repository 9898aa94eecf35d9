// Measures takeovers and the cost of a step on Restate, and then runs 40 trips during a minute of faults. Needs Node 22.

import assert from "node:assert/strict";
import { workflow, type WorkflowContext } from "@restatedev/restate-sdk";
import { connect } from "@restatedev/restate-sdk-clients";
import { defineTool, type LoopResult } from "turnwright";
import { defineDurableLoop, launchWorker, runInWorkflow } from "turnwright/restate";
import { createMockProvider, toolCall } from "turnwright/testing";
import { measureTakeover, tripsOf } from "../dbos/trips.ts";
import { Fleet } from "./fleet.ts";
import { runFaults, safeCallsOf } from "./run-faults.ts";
import { serve } from "./serve.ts";
import { findFreePort, startRestate } from "./start-restate.ts";

/** The seed of the faults is the first argument, or else random. */
const seed = Number(process.argv[2] ?? Math.floor(Math.random() * 2 ** 32));
const leaseMs = 2_000;
const trips = defineDurableLoop(tripsOf(""));

/** The takeover is between two new workers. */
async function measure(id: string, signal: "SIGKILL" | "SIGSTOP", fleet: Fleet): Promise<number> {
  await Promise.all([fleet.start(), fleet.start()]);
  const tookMs = await measureTakeover(trips, { id, signal, notesPath: fleet.notesPath });
  await fleet.killAll();
  return tookMs;
}

const steps = 400;
const text = "x".repeat(1_000);
const times = workflow({
  name: "times",
  handlers: {
    async run(ctx: WorkflowContext, withJournal: boolean): Promise<number> {
      const times = async (step: (key: string, body: () => object) => unknown): Promise<number> => {
        const begunAt = performance.now();
        for (let index = 0; index < steps; index += 1) await step(`i${index}/model`, () => ({ text }));
        return (performance.now() - begunAt) / steps;
      };
      if (!withJournal) return times((key, body) => ctx.run(key, () => ({ answer: body() })));
      let ms = 0;
      await runInWorkflow(ctx, async ({ journal }) => {
        ms = await times((key, body) => journal.step(key, body));
        return { reason: { kind: "answered" } } as LoopResult;
      });
      return ms;
    },
  },
});

/** Each iteration has four steps: its request, the beginning and the outcome of its call, and its look. */
const stepsPerIteration = 4;
const idle = defineDurableLoop({
  name: "idle",
  options: () => ({
    provider: createMockProvider(({ iteration }) => toolCall("read", { iteration, text })),
    tools: [defineTool({ name: "read", description: "Reads", inputSchema: { type: "object" }, execute: () => ({ text }) })],
    messages: [{ role: "user" as const, content: "Go." }],
    limits: { maxIterations: steps / stepsPerIteration },
  }),
});

/** Prints the time of a step of a durable loop, of `runInWorkflow`, and of a bare `ctx.run` with the same number of bytes. */
async function measureSteps(): Promise<void> {
  const server = await startRestate();
  const endpoint = await serve([times], server.adminUrl);
  const ingress = connect({ url: server.ingressUrl });
  const taken: { readonly [kind in "bare" | "journal"]: number[] } = { bare: [], journal: [] };
  for (let round = 0; round < 12; round += 1) {
    const kind = round % 2 === 0 ? "bare" : "journal";
    const client = ingress.workflowClient(times, `round-${round}`);
    await client.workflowSubmit(kind === "journal");
    // Leaves out the first measurements, because they warm up the process.
    const ms = await client.workflowAttach();
    if (round > 1) taken[kind].push(ms);
  }
  await endpoint.stop();
  const port = await findFreePort();
  const worker = await launchWorker({ ingressUrl: server.ingressUrl, adminUrl: server.adminUrl, port });
  const own: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    await idle.start(`idle-${round}`, null);
    const { durationMs } = await idle.result(`idle-${round}`);
    if (round > 0) own.push(durationMs / steps);
  }
  await worker.stop();
  await server.stop();
  const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const [bare, journal] = [median(taken.bare), median(taken.journal)];
  const loop = median(own);
  console.log(`A step of a durable loop takes ${loop.toFixed(2)} ms, a step of runInWorkflow ${journal.toFixed(2)} ms,`);
  console.log(`and a bare ctx.run ${bare.toFixed(2)} ms.`);
}

await measureSteps();
const fleet = await Fleet.begin(leaseMs);
const { ingressUrl, adminUrl } = fleet.server;
const client = await launchWorker({ ingressUrl, adminUrl, runsLoops: false });
const kills: number[] = [];
const freezes: number[] = [];
for (let round = 0; round < 5; round += 1) {
  kills.push(await measure(`kill-${round}`, "SIGKILL", fleet));
  freezes.push(await measure(`freeze-${round}`, "SIGSTOP", fleet));
}
await client.stop();
await fleet.stop();
const secondsOf = (values: readonly number[]): string => values.map((ms) => (ms / 1_000).toFixed(1)).join(", ");
console.log(`Takeover after a kill, in seconds: ${secondsOf(kills)}`);
console.log(`Takeover after a freeze, if the balancer waits ${leaseMs / 1_000} s, in seconds: ${secondsOf(freezes)}`);

console.log(`The faults have the seed ${seed}. To repeat them: npx tsx --no-deprecation test/restate/test-faults.ts ${seed}`);
for (const isServerOnly of [true, false]) {
  try {
    const plan = { runs: 40, workers: 3, forMs: isServerOnly ? 20_000 : 60_000, everyMs: 700, leaseMs, isServerOnly, seed };
    const report = await runFaults(plan, trips);
    console.log(isServerOnly ? "Only the server is killed:" : "All faults:", report);
    const { faults: _, tookMs: __, ended: ___, endedTwice: ____, ...rest } = report;
    const none = { repeated: 0, gaps: 0, missteered: 0, unended: 0 };
    assert.deepEqual(rest, { completed: 40, read: 40, ...none, charged: safeCallsOf(40) });
  } catch (error) {
    throw new Error(`The faults with the seed ${seed} broke a run.`, { cause: error });
  }
}
assert.ok(Math.max(...kills) < 3_000 && Math.max(...freezes) < leaseMs + 3_000);
