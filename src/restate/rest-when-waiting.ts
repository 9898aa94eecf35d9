// Ends the attempts of runs that wait for a long time, so that they use no worker.

import type { Json } from "../core/entry-kit.ts";
import type { LiveRun, StepHooks } from "../host/durable/durable-store.ts";
import type { RestateStore } from "./restate-store.ts";

/** One call of a workflow by Restate. */
export interface Attempt {
  readonly runId: string;
  /** The number of the execution in this attempt. 0 until it has begun. */
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
  /** The checks run one after the other. Otherwise a slow check of an earlier wait could remove the mark of a run that rests. */
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

/** Marks a run as resting, so that any new message wakes its workflow. Removes the mark and returns false if the run need not wait. */
async function mayRest(wait: Wait, { attempt, worker: { store } }: RestPorts): Promise<boolean> {
  const { runId, execution } = attempt;
  if (!(await store.rest(runId, execution, true))) return false;
  // A message that arrived before the run was marked as resting did not wake it.
  const messages = await store.readMessages(runId, 0);
  const isDecided = messages.some(
    ({ body }) => body.verb === "stop" || body.verb === "kill" || ("key" in body && body.key === wait.key),
  );
  if (!isDecided && !wait.isOver) return true;
  await store.rest(runId, execution, false);
  return false;
}
