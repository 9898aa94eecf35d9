// The workflow of durable runs in Restate. Each run of each loop is one workflow.

import { workflow, type WorkflowContext, type WorkflowDefinition } from "@restatedev/restate-sdk";
import { type Json, toPlainError } from "../core/entry-kit.ts";
import type { DurableLoopFields } from "../host/durable/durable-loop.ts";
import type { LiveRun, StepHooks } from "../host/durable/durable-store.ts";
import { executeDurableRun } from "../host/durable/execute-durable-run.ts";
import { createRestateJournal } from "./restate-journal.ts";
import { retryPolicy } from "./run-object.ts";
import type { WorkerProcess } from "./worker.ts";

/** The durable loops of this process, by name. */
export const loops: Map<string, DurableLoopFields<Json>> = new Map();

/** turnwright limits the time of each step itself. Restate must not end an attempt because a step takes long. */
const inactivityTimeout = { days: 1 };
const abortTimeout = { hours: 1 };

export function createRunWorkflow(worker: WorkerProcess): WorkflowDefinition<string, unknown> {
  const { names, settings } = worker;
  const kept = settings.retentionMs;
  return workflow({
    name: names.workflow,
    handlers: {
      run: (ctx: WorkflowContext, { loop }: { readonly loop: string }): Promise<void> => execute(ctx, loop, worker),
    },
    options: {
      workflowRetention: kept,
      journalRetention: kept,
      ingressPrivate: true,
      retryPolicy,
      inactivityTimeout,
      abortTimeout,
    },
  });
}

/** Ends the current attempt without ending the workflow. Restate then calls the workflow again, unless it is paused. */
class AttemptOver extends Error {}

async function execute(ctx: WorkflowContext, name: string, worker: WorkerProcess): Promise<void> {
  const fields = loops.get(name);
  if (fields === undefined) throw new AttemptOver(`No durable loop "${name}" is defined in this worker. Define it before launchWorker().`);
  const { store, admin } = worker;
  const runId = ctx.key;
  const { id: invocation, attemptCompletedSignal: over } = ctx.request();
  try {
    const input = (await store.read(runId, "input")) ?? "null";
    const end = await executeDurableRun(worker, {
      runId,
      options: await fields.options(JSON.parse(input) as Json),
      maxCrashes: fields.maxCrashes,
      createJournal: (hooks) => createRestateJournal(ctx, attach(hooks, { runId, over, worker, invocation })),
    });
    if (end === undefined) throw new AttemptOver("This execution of the run was abandoned.");
    await store.finish(runId, { end });
  } catch (error) {
    if (over.aborted || error instanceof AttemptOver) throw error;
    await store.finish(runId, { error: toPlainError(error).message });
    // The workflow is paused instead of ended, so that `retry` can continue it after its last record.
    await admin.pause(invocation);
    throw error;
  } finally {
    if (!worker.live.has(runId)) store.leave(runId);
  }
}

interface Attempt {
  readonly runId: string;
  readonly invocation: string;
  /** Fires when the attempt is over, for example because Restate closed the connection. */
  readonly over: AbortSignal;
  readonly worker: WorkerProcess;
}

/** Ends the execution together with the attempt, and pauses it when it waits for long. */
function attach(hooks: StepHooks, attempt: Attempt): StepHooks {
  const { over, worker, runId } = attempt;
  const own = worker.live.get(runId);
  if (own === undefined) return hooks;
  const abandon = (): void => own.abandon();
  if (over.aborted) abandon();
  over.addEventListener("abort", abandon);
  const { receive } = hooks;
  return Object.assign(hooks, {
    async receive(key: string): Promise<Json> {
      const timer = setTimeout(() => void pauseRun(attempt, own).catch(() => {}), worker.settings.suspendMs);
      try {
        return await receive(key);
      } finally {
        clearTimeout(timer);
      }
    },
  });
}

/** Ends the attempt of a waiting run, and pauses its workflow. Any new message resumes it. */
async function pauseRun({ runId, invocation, worker }: Attempt, own: LiveRun): Promise<void> {
  const { store, admin, live } = worker;
  const before = (await store.peek(runId))?.messages;
  await store.park(runId, true);
  // A message that came before the workflow was marked resumes nothing, so the run stays here.
  const isStill = live.get(runId) === own && (await store.peek(runId))?.messages === before;
  if (!isStill) return store.park(runId, false);
  await admin.pause(invocation);
  own.abandon();
}
