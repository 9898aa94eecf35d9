// Defines the Restate workflow of a durable loop. Each run is one workflow.

import { RetryableError, workflow, type WorkflowContext, type WorkflowDefinition } from "@restatedev/restate-sdk";
import type { Json } from "../core/index.ts";
import { toPlainError } from "../shared/plain-error.ts";
import type { DurableLoopFields } from "../host/durable/durable-loop.ts";
import { executeDurableRun, type RunSite } from "../host/durable/execute-durable-run.ts";
import { FailedRun, type RestateStore } from "./restate-store.ts";
import { retryPolicy, type ServiceNames } from "./run-object.ts";

export interface RunWorker extends RunSite {
  readonly store: RestateStore;
  readonly names: ServiceNames;
  readonly settings: { readonly retentionMs: number; readonly suspendMs: number };
  /** The durable loops of this process, by name. */
  readonly loops: ReadonlyMap<string, DurableLoopFields<Json>>;
}

/** Stops Restate from ending an attempt because a step takes a long time. turnwright limits each step's time itself. */
const inactivityTimeout = { days: 1 };
const abortTimeout = { hours: 1 };

export function createRunWorkflow(worker: RunWorker): WorkflowDefinition<string, unknown> {
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

/** Ends the current attempt but not the workflow. Restate then calls the workflow again, unless the workflow is paused. */
class AttemptOver extends Error {}

function findLoop({ loops }: RunWorker, name: string): DurableLoopFields<Json> {
  const fields = loops.get(name);
  if (fields !== undefined) return fields;
  throw new AttemptOver(`No durable loop "${name}" is defined in this worker. Define it before launchWorker().`);
}

async function execute(ctx: WorkflowContext, name: string, worker: RunWorker): Promise<void> {
  const fields = findLoop(worker, name);
  const { store, settings } = worker;
  const runId = ctx.key;
  // This signal fires when the attempt is over, for example because Restate closed the connection.
  const { attemptCompletedSignal: signal } = ctx.request();
  // The execution's number, which is 0 until the execution has begun.
  let execution = 0;
  const onBegin = (number: number): void => void (execution = number);
  const resting = {
    afterMs: settings.suspendMs,
    note: (number: number, isResting: boolean) => store.rest(runId, number, isResting),
  };
  try {
    const end = await executeDurableRun(worker, { runId, fields, signal, onBegin, resting });
    if (end.kind === "resting") throw restUntilWoken("The run waits.", end.until);
    if (end.kind === "abandoned") throw new AttemptOver("This execution was abandoned.");
    if (!(await store.finish(runId, execution, { end: end.facts }))) throw new AttemptOver(fenced);
  } catch (error) {
    if (signal.aborted || isExpected(error)) throw error;
    const { message } = toPlainError(error);
    if (error instanceof FailedRun) throw restUntilWoken(message);
    if (!(await store.finish(runId, execution, { error: message }))) throw new AttemptOver(fenced);
    // Waits instead of ending the workflow, so that `retry` can continue the run from its records.
    throw restUntilWoken(message);
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof AttemptOver || error instanceof RetryableError;
}

const fenced = "Another execution of the run has begun, so this one stops.";

/** The maximum time that a workflow rests, in milliseconds. A message or a retry wakes it sooner. */
const maxRestMs = 24 * 3_600_000;

/** Returns an error that ends the attempt. The next attempt begins at `until`, or when the workflow is woken. */
function restUntilWoken(why: string, until: number = Number.POSITIVE_INFINITY): RetryableError {
  const milliseconds = Math.min(maxRestMs, Math.max(1, until - Date.now()));
  return new RetryableError(why, { retryAfter: { milliseconds } });
}
