// One execution of a durable run in a worker.

import {
  type Journal,
  type Json,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  type UserMessage,
  runToolLoop,
} from "../../core/entry-kit.ts";
import { createLoopControl } from "../../core/index.ts";
import { createEmitter } from "../execution-events.ts";
import type { DurableOwnOptions, DurableResult } from "./durable-loop.ts";
import { storeLargeParts } from "./durable-records.ts";
import type { DurableEngine, DurableStore, LiveRun, StepHooks } from "./durable-store.ts";
import { EventWriter } from "./event-writer.ts";

/** The result of a run without its messages, which are in its journal. */
export interface RunFacts extends Omit<DurableResult, "messages"> {
  /** The position of the last message that the run has read. */
  readonly lastRead: number;
}

/** The process in which a run is executed. */
export interface RunSite extends Pick<DurableEngine, "store" | "waitFor"> {
  /** The runs that this process executes, by run id. */
  readonly live: Map<string, LiveRun>;
}

export interface DurableExecution {
  readonly runId: string;
  readonly options: Omit<LoopOptions, DurableOwnOptions>;
  readonly createJournal: (hooks: StepHooks) => Journal | Promise<Journal>;
  /** How many workers in a row may die without progress of the run. Default 10. */
  readonly maxCrashes?: number | undefined;
}

/** Executes a run. Returns its `RunFacts` as JSON, or undefined if this execution was abandoned. */
export async function executeDurableRun(
  site: RunSite,
  { runId, options, createJournal, maxCrashes = 10 }: DurableExecution,
): Promise<string | undefined> {
  await endEarlier(site, runId);
  const control = createLoopControl();
  const over = new AbortController();
  let end: () => void = () => {};
  let writer: EventWriter | undefined;
  let isAbandoned = false;
  /** The large texts of earlier executions. A replay needs all of them. */
  let texts: ReturnType<DurableStore["readBlobs"]> | undefined;
  const abandon = (): void => {
    isAbandoned = true;
    // Must come before the kill, so that the events and outcomes of the kill are dropped.
    over.abort(new Error("This execution of the run was abandoned."));
    writer?.close();
    control.kill();
  };
  const live: LiveRun = { control, abandon, ended: new Promise((resolve) => (end = resolve)) };
  site.live.set(runId, live);
  try {
    const events = (writer = await EventWriter.begin(site.store, runId));
    if (events.stalls > maxCrashes) throw new Error(toGivenUp(events.stalls));
    const hooks = createHooks(site, { runId, control, events, signal: over.signal, abandon });
    await obey(site.store, runId, live);
    const journal = storeLargeParts(await createJournal(hooks), {
      put: (id, text) => events.addBlob(id, text),
      get: () => (texts ??= site.store.readBlobs(runId)),
    });
    const result = await runToolLoop({
      ...options,
      timeouts: { journalMs, ...options.timeouts },
      runId,
      control,
      journal,
      events: createEmitter(events.take),
    });
    await events.flush();
    return isAbandoned ? undefined : JSON.stringify(factsOf(result, hooks.lastRead));
  } catch (error) {
    if (isAbandoned) return undefined;
    // Records steps that have run, although the run rejects.
    await writer?.flush().catch(() => {});
    throw error;
  } finally {
    over.abort(new Error("The run has ended."));
    writer?.close();
    // This worker is alive, so the execution must not count as a crash.
    if (isAbandoned) await site.store.resetStalls(runId).catch(() => {});
    site.live.delete(runId);
    end();
  }
}

/** When a run has waited for this time, in milliseconds, the wait counts as progress. */
const calmMs = 10_000;

/** The default of `timeouts.journalMs` in a durable run, in milliseconds. The database may be out of reach for this long. */
const journalMs = 3_600_000;

function toGivenUp(stalls: number): string {
  return `The run was given up, because ${stalls} workers in a row died while they executed the same step. Find the cause, then continue the run with "retry".`;
}

/**
 * Ends an earlier execution of the same run in this process. Such an execution exists if the process was frozen, another worker
 * took the run over, and the run has come back.
 */
async function endEarlier({ live }: RunSite, runId: string): Promise<void> {
  for (let earlier = live.get(runId); earlier !== undefined; earlier = live.get(runId)) {
    earlier.abandon();
    await earlier.ended;
  }
}

interface Executing {
  readonly runId: string;
  readonly control: LoopControl;
  readonly events: EventWriter;
  readonly signal: AbortSignal;
  readonly abandon: () => void;
}

function createHooks(site: RunSite, { runId, control, events, signal, abandon }: Executing): StepHooks {
  const { store } = site;
  const hooks: StepHooks = {
    lastRead: 0,
    // The step that reads messages also records them, so that no message is lost or read twice.
    async beforeInbox() {
      for (const { seq, body } of await store.readMessages(runId, hooks.lastRead)) {
        if (body.verb === "steer") control.steer(body.message as string | UserMessage);
        hooks.lastRead = seq;
      }
    },
    async beforeRecord() {
      signal.throwIfAborted();
      await events.flush();
    },
    async record(record) {
      signal.throwIfAborted();
      try {
        await events.writeRecord(record);
      } catch (error) {
        abandon();
        throw error;
      }
    },
    async receive(key) {
      // Readers with `endsWhenWaiting` may end now.
      await store.wake(runId).catch(() => {});
      // Another call of the run may still crash the process, so only a long wait counts as progress.
      const timer = setTimeout(() => void store.resetStalls(runId).catch(() => {}), calmMs);
      try {
        return await site.waitFor(runId, () => findDecision(store, runId, key), signal);
      } finally {
        clearTimeout(timer);
      }
    },
  };
  return hooks;
}

/** Returns the first decision with the key. If the store fails, the wait continues. */
async function findDecision(store: DurableStore, runId: string, key: string): Promise<Json | undefined> {
  const messages = await store.readMessages(runId, 0).catch(() => []);
  for (const { body } of messages) if (body.verb === "decide" && body.key === key) return body.decision;
  return undefined;
}

/** Carries out the stops and kills that were sent to a run. Both may be repeated without harm. */
export async function obey(store: DurableStore, runId: string, { control }: LiveRun): Promise<void> {
  for (const { body } of await store.readMessages(runId, 0)) {
    if (body.verb === "kill") control.kill();
    else if (body.verb === "stop") control.stop(body.request as Parameters<LoopControl["stop"]>[0]);
  }
}

function factsOf(result: LoopResult, lastRead: number): RunFacts {
  const { status, reason, text, usage, costUSD, iterations, toolCallsExecuted, durationMs, error, output, undelivered, runId } =
    result;
  const spent = { usage, costUSD, iterations, toolCallsExecuted, durationMs };
  return { status, reason, text, ...spent, error, output, undelivered, runId, lastRead };
}
