// The workflow of durable runs in Restate. Each run of each loop is one workflow.

import { RetryableError, workflow, type WorkflowContext, type WorkflowDefinition } from "@restatedev/restate-sdk";
import { type Json, toPlainError } from "../core/entry-kit.ts";
import type { DurableLoopFields } from "../host/durable/durable-loop.ts";
import { executeDurableRun, type RunSite } from "../host/durable/execute-durable-run.ts";
import type { LiveRun, StepHooks } from "../host/durable/durable-store.ts";
import { createRestateJournal } from "./restate-journal.ts";
import { FailedRun, type RestateStore } from "./restate-store.ts";
import { retryPolicy, type ServiceNames } from "./run-object.ts";

export interface RunWorker extends RunSite {
  readonly store: RestateStore;
  readonly names: ServiceNames;
  readonly settings: { readonly retentionMs: number; readonly suspendMs: number };
}

/** The durable loops of this process, by name. */
export const loops: Map<string, DurableLoopFields<Json>> = new Map();

/** turnwright limits the time of each step itself. Restate must not end an attempt because a step takes a long time. */
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

function findLoop(name: string): DurableLoopFields<Json> {
  const fields = loops.get(name);
  if (fields !== undefined) return fields;
  throw new AttemptOver(`No durable loop "${name}" is defined in this worker. Define it before launchWorker().`);
}

async function execute(ctx: WorkflowContext, name: string, worker: RunWorker): Promise<void> {
  const fields = findLoop(name);
  const { store } = worker;
  const runId = ctx.key;
  // Fires when the attempt is over, for example because Restate closed the connection.
  const { attemptCompletedSignal: over } = ctx.request();
  const attempt: Attempt = { runId, execution: 0, rests: false };
  try {
    const end = await executeDurableRun(worker, {
      runId,
      fields,
      signal: over,
      onBegin: (execution) => {
        attempt.execution = execution;
      },
      createJournal: (hooks, live) => createRestateJournal(ctx, restWhenWaiting(hooks, { attempt, live, worker })),
    });
    if (end === undefined)
      throw attempt.rests ? restUntilWoken("The run waits.") : new AttemptOver("This execution was abandoned.");
    if (!(await store.finish(runId, attempt.execution, { end }))) throw new AttemptOver(fenced);
  } catch (error) {
    if (over.aborted || isExpected(error)) throw error;
    const { message } = toPlainError(error);
    if (error instanceof FailedRun) throw restUntilWoken(message);
    if (!(await store.finish(runId, attempt.execution, { error: message }))) throw new AttemptOver(fenced);
    // The workflow must not end, so that `retry` can continue it from its records.
    throw restUntilWoken(message);
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof AttemptOver || error instanceof RetryableError;
}

const fenced = "Another execution of the run has begun.";

/** How long a workflow rests at most, in hours. A message or a retry wakes the workflow sooner. */
const longestRest = 24;

/** Returns an error that ends the attempt. The next attempt begins when the workflow is woken. */
function restUntilWoken(why: string): RetryableError {
  return new RetryableError(why, { retryAfter: { hours: longestRest } });
}

/** One call of a workflow by Restate. */
export interface Attempt {
  readonly runId: string;
  /** The number of the execution in this attempt. 0 until the execution has begun. */
  execution: number;
  /** True if the attempt ends because the run only waits. */
  rests: boolean;
}

export interface RestPorts {
  readonly attempt: Attempt;
  readonly live: Pick<LiveRun, "abandon">;
  readonly worker: {
    readonly store: Pick<RestateStore, "rest" | "readMessages">;
    readonly settings: { readonly suspendMs: number };
  };
}

interface Wait {
  readonly key: string;
  isOver: boolean;
}

/** Returns hooks that end the attempt when the run has waited for `suspendMs`. */
export function restWhenWaiting(hooks: StepHooks, ports: RestPorts): StepHooks {
  const { attempt, live, worker } = ports;
  const { receive } = hooks;
  /**
   * The checks run one after the other. Otherwise, a slow check could set `isResting` to false after a newer check has set it to
   * true.
   */
  let checked: Promise<void> = Promise.resolve();
  const check = async (wait: Wait): Promise<void> => {
    if (wait.isOver || attempt.rests || !(await mayRest(wait, ports))) return;
    attempt.rests = true;
    live.abandon();
  };
  return Object.assign(hooks, {
    async receive(key: string): Promise<Json> {
      const wait = { key, isOver: false };
      const timer = setTimeout(() => {
        checked = checked.then(() => check(wait)).catch(() => {});
      }, worker.settings.suspendMs);
      try {
        return await receive(key);
      } finally {
        wait.isOver = true;
        clearTimeout(timer);
      }
    },
  });
}

/**
 * Sets `isResting` of a run to true, so that any new message wakes the workflow. If the run no longer needs to wait, sets
 * `isResting` to false and returns false.
 */
async function mayRest(wait: Wait, { attempt, worker: { store } }: RestPorts): Promise<boolean> {
  const { runId, execution } = attempt;
  if (!(await store.rest(runId, execution, true))) return false;
  // A message that arrived before `isResting` was true did not wake the workflow, so all messages are read again.
  const messages = await store.readMessages(runId, 0);
  const isDecided = messages.some(
    ({ body }) => body.verb === "stop" || body.verb === "kill" || ("key" in body && body.key === wait.key),
  );
  if (!isDecided && !wait.isOver) return true;
  await store.rest(runId, execution, false);
  return false;
}
