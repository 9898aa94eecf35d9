// The workflow of durable runs in Restate. Each run of each loop is one workflow.

import { RetryableError, workflow, type WorkflowContext, type WorkflowDefinition } from "@restatedev/restate-sdk";
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
  const { store } = worker;
  const runId = ctx.key;
  const attempt: Attempt = { runId, over: ctx.request().attemptCompletedSignal, worker, rests: false };
  const { state, error: failure = "" } = (await store.peek(runId)) ?? {};
  if (state === "failed") throw restUntilWoken(failure);
  try {
    const input = (await store.read(runId, "input")) ?? "null";
    const end = await executeDurableRun(worker, {
      runId,
      options: await fields.options(JSON.parse(input) as Json),
      maxCrashes: fields.maxCrashes,
      createJournal: (hooks) => createRestateJournal(ctx, attach(hooks, attempt)),
    });
    if (end === undefined) throw attempt.rests ? restUntilWoken("The run waits.") : new AttemptOver("This execution was abandoned.");
    await store.finish(runId, { end });
  } catch (error) {
    if (attempt.over.aborted || error instanceof AttemptOver || error instanceof RetryableError) throw error;
    const { message } = toPlainError(error);
    await store.finish(runId, { error: message });
    // The workflow does not end, so that `retry` can continue it after its last record.
    throw restUntilWoken(message);
  } finally {
    if (!worker.live.has(runId)) store.leave(runId);
  }
}

/** How long a workflow rests at most, in hours. A message or a retry wakes it earlier. */
const longestRest = 24;

/** The error that ends an attempt, but begins no new one until the workflow is woken. */
function restUntilWoken(why: string): RetryableError {
  return new RetryableError(why, { retryAfter: { hours: longestRest } });
}

interface Attempt {
  readonly runId: string;
  /** Fires when the attempt is over, for example because Restate closed the connection. */
  readonly over: AbortSignal;
  readonly worker: WorkerProcess;
  /** True if the attempt ends because the run only waits. */
  rests: boolean;
}

/** Ends the execution together with the attempt, and ends the attempt when the run waits for long. */
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
      const timer = setTimeout(() => void restRun(attempt, own).catch(() => {}), worker.settings.suspendMs);
      try {
        return await receive(key);
      } finally {
        clearTimeout(timer);
      }
    },
  });
}

/** Ends the attempt of a waiting run. Any new message wakes its workflow. */
async function restRun(attempt: Attempt, own: LiveRun): Promise<void> {
  const { runId, worker } = attempt;
  const { store, live } = worker;
  const before = (await store.peek(runId))?.messages;
  if (!(await store.rest(runId, true))) return;
  // A message that came before the run was marked wakes nothing, so the run stays here.
  const isStill = live.get(runId) === own && (await store.peek(runId))?.messages === before;
  if (!isStill) {
    await store.rest(runId, false);
    return;
  }
  attempt.rests = true;
  own.abandon();
}
