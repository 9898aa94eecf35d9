// The checks of `journalSuite` with `restateJournal`. Each execution of a run is one attempt of a Restate workflow.

import { workflow, type WorkflowContext, type WorkflowSharedContext } from "@restatedev/restate-sdk";
import { connect, type Ingress } from "@restatedev/restate-sdk-clients";
import type { Journal } from "turnwright";
import { restateJournal } from "turnwright/restate";
import { journalSuite, type JournalSuiteSetup } from "turnwright/testing";
import type { Check } from "./checks.ts";
import { type Endpoint, serve } from "./serve.ts";
import { type RestateServer, startRestate } from "./start-restate.ts";

let server: RestateServer;
let endpoint: Endpoint;
let ingress: Ingress;

/** The body for the next execution of each run, by run id. */
const bodies = new Map<string, (journal: Journal) => Promise<void>>();

/** Functions that tell a waiting workflow that a body has arrived, by run id. */
const wakes = new Map<string, () => void>();

const suiteRun = workflow({
  name: "suite",
  handlers: {
    async run(ctx: WorkflowContext): Promise<void> {
      while (!bodies.has(ctx.key)) await new Promise<void>((resolve) => wakes.set(ctx.key, resolve));
      const body = bodies.get(ctx.key);
      bodies.delete(ctx.key);
      await body?.(restateJournal(ctx));
      // An error leaves the workflow unfinished. Restate calls it again, and it waits for the body of the next execution.
      throw new Error("The execution is over.");
    },
    async decide(ctx: WorkflowSharedContext, { key, decision }: { key: string; decision: unknown }): Promise<void> {
      await ctx.promise(key).resolve(decision);
    },
  },
  options: { retryPolicy: { initialInterval: 10, exponentiationFactor: 1, maxInterval: 10, maxAttempts: 1_000_000 } },
});

export async function begin(): Promise<void> {
  server = await startRestate();
  endpoint = await serve([suiteRun], server.adminUrl);
  ingress = connect({ url: server.ingressUrl });
}

export async function end(): Promise<void> {
  await server.stop();
  await endpoint.stop();
}

const started = new Set<string>();

/**
 * The executions that have not ended. A second call must join the first one, because Restate runs a workflow only once at a time.
 */
const live = new Map<string, Promise<unknown>>();

const execute: JournalSuiteSetup["execute"] = <T>(runId: string, body: (journal: Journal) => Promise<T>): Promise<T> => {
  const running = live.get(runId);
  if (running !== undefined) return running as Promise<T>;
  const execution = new Promise<T>((resolve, reject) => {
    bodies.set(runId, (journal) => body(journal).then(resolve, reject));
    wakes.get(runId)?.();
    if (started.has(runId)) return;
    started.add(runId);
    ingress.workflowClient(suiteRun, runId).workflowSubmit().catch(reject);
  });
  live.set(runId, execution);
  return execution.finally(() => live.delete(runId));
};

const send = (runId: string, key: string, decision: unknown): Promise<unknown> =>
  ingress.workflowClient(suiteRun, runId).decide({ key, decision }) as Promise<unknown>;

export const checks: readonly Check[] = journalSuite({ execute, send, pauseMs: 400, withinMs: 30_000 });
