// A workflow engine in memory, for tests of the executions of one durable run.

import type { Journal, LoopEvent, LoopOptions } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { readLargeParts, type StoredEvent } from "../../src/host/durable/durable-records.ts";
import type { DurableStore, LiveRun, Row, RunMessage, StepRecord } from "../../src/host/durable/durable-store.ts";
import {
  type DurableExecution,
  executeDurableRun,
  type ExecutionEnd,
  type RunSite,
} from "../../src/host/durable/execute-durable-run.ts";
import { RunWaits } from "../../src/host/durable/worker-site.ts";

export const runId = "run";

/** Waits until a run in memory only waits. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const given = [{ role: "user" as const, content: "Hi" }];

/** A workflow engine in memory, with one run. */
export interface Engine {
  readonly records: Map<string, string>;
  readonly store: DurableStore;
  send(body: RunMessage): void;
  /** Returns the ids of the waits that the run has opened. */
  waits(): readonly string[];
  readJournal(): Journal;
  /** `live` are the runs of the process. Returns undefined if the execution was abandoned. */
  createProcess(
    live?: Map<string, LiveRun>,
  ): (given: Partial<LoopOptions>, more?: Partial<DurableExecution>) => Promise<string | undefined>;
  events(): readonly LoopEvent[];
}

export function createEngine(): Engine {
  const rows: StepRecord[] = [];
  const records = new Map<string, string>();
  const bodies: string[] = [];
  const messages: Row<RunMessage>[] = [];
  const waits = new RunWaits();
  let execution = 0;
  const store = {
    mayRepeat: () => false,
    begin: async () => ({ execution: ++execution, events: bodies.length, stalls: 0 }),
    append: async (_id, from, { first, events, records: added }) => {
      if (from !== execution) return false;
      if (first === bodies.length) bodies.push(...events);
      rows.push(...added);
      for (const { key, body } of added) records.set(key, body);
      return true;
    },
    readRecords: async () => [...rows],
    readEvents: async (_id, from) => bodies.map((body, seq) => ({ seq, body })).slice(from),
    readMessages: async (_id, after) => messages.filter(({ seq }) => seq > after),
    readBlobs: async () => new Map(),
    resetStalls: async () => {},
    wake: async () => {},
  } as Partial<DurableStore> as DurableStore;
  return {
    records,
    store,
    send: (body) => {
      messages.push({ seq: messages.length + 1, body });
      waits.wake(runId);
    },
    waits: () => [...records.keys()].flatMap((key) => /^wait\/(.*)\/1\/asked$/.exec(key)?.[1] ?? []),
    readJournal: () => readLargeParts(store, { runId, messages: given }),
    createProcess(live = new Map<string, LiveRun>()) {
      const site: RunSite = {
        store,
        live,
        waitFor: (id, look, signal) => waits.waitFor({ runId: id, look, signal }, new AbortController().signal),
      };
      return async (own, more = {}) => {
        const all = { provider: createMockProvider([text("Hello.")]), messages: given };
        const fields = { options: () => ({ ...all, ...own }) };
        return factsOf(await executeDurableRun(site, { runId, fields, ...more }));
      };
    },
    events: () => bodies.map((body) => (JSON.parse(body) as StoredEvent).event),
  };
}

export function factsOf(end: ExecutionEnd): string | undefined {
  return end.kind === "ended" ? end.facts : undefined;
}
