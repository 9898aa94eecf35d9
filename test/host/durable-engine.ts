// A workflow engine in memory, for tests of the executions of one durable run.

import type { Journal, Json, LoopEvent, LoopOptions, Step } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { isInboxKey } from "../../src/core/entry-kit.ts";
import { createReadOnlyJournal, readLargeParts, type StoredEvent } from "../../src/host/durable/durable-records.ts";
import type { DurableStore, LiveRun, Row, RunMessage, StepHooks } from "../../src/host/durable/durable-store.ts";
import { type DurableExecution, executeDurableRun, type RunSite } from "../../src/host/durable/execute-durable-run.ts";

export const runId = "run";

/** Waits until all promises have settled that do not depend on timers or I/O. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const untilAborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("It is over."))));

interface Records {
  readonly records: Map<string, string>;
  /** The positions of the messages that the inbox steps have read. */
  readonly positions: Map<string, number>;
  readonly waits: string[];
}

function createJournalOf({ records, positions, waits }: Records, hooks: StepHooks): Journal {
  const step = async <T>({ key, kind, run }: Step<T>): Promise<T> => {
    const known = records.get(key);
    if (known !== undefined) {
      hooks.lastRead = positions.get(key) ?? hooks.lastRead;
      return JSON.parse(known) as T;
    }
    const isInbox = kind === "inbox" && isInboxKey(key);
    if (isInbox) await hooks.beforeInbox();
    const body = JSON.stringify(await run({}));
    await hooks.beforeRecord();
    records.set(key, body);
    if (isInbox) positions.set(key, hooks.lastRead);
    return JSON.parse(body) as T;
  };
  const wait = (key: string): Promise<Json> => {
    waits.push(key);
    return hooks.receive(key);
  };
  return { durable: true, step, all: (steps) => Promise.all(steps.map(step)), wait };
}

/** A workflow engine in memory, with one run. It records steps itself, after `beforeRecord`. */
const given = [{ role: "user" as const, content: "Hi" }];

export interface Engine {
  readonly records: Map<string, string>;
  readonly store: DurableStore;
  /** The keys of the waits. */
  readonly waits: readonly string[];
  send(body: RunMessage): void;
  /** Approves the call that waits under a key. */
  decide(key: string): void;
  readJournal(): Journal;
  /** `live` are the runs of the process. */
  createProcess(
    live?: Map<string, LiveRun>,
  ): (given: Partial<LoopOptions>, more?: Partial<DurableExecution>) => Promise<string | undefined>;
  events(): readonly LoopEvent[];
}

export function createEngine(): Engine {
  const records = new Map<string, string>();
  const positions = new Map<string, number>();
  const bodies: string[] = [];
  const messages: Row<RunMessage>[] = [];
  const waits: string[] = [];
  let execution = 0;
  const store = {
    mayRepeat: () => false,
    begin: async () => ({ execution: ++execution, events: bodies.length, stalls: 0 }),
    append: async (_id, from, { first, events }) => {
      if (from !== execution) return false;
      if (first === bodies.length) bodies.push(...events);
      return true;
    },
    readEvents: async (_id, from) => bodies.map((body, seq) => ({ seq, body })).slice(from),
    readMessages: async (_id, after) => messages.filter(({ seq }) => seq > after),
    readBlobs: async () => new Map(),
    resetStalls: async () => {},
    wake: async () => {},
  } as Partial<DurableStore> as DurableStore;
  const createJournal = (hooks: StepHooks): Journal => createJournalOf({ records, positions, waits }, hooks);
  const send = (body: RunMessage): void => {
    messages.push({ seq: messages.length + 1, body });
  };
  return {
    records,
    store,
    waits,
    send,
    decide: (key) => send({ verb: "decide", key, decision: { kind: "approve" } }),
    readJournal: () => {
      const read = async () => new Map([...records].map(([key, body]) => [key, JSON.parse(body) as unknown]));
      return readLargeParts(createReadOnlyJournal(read), store, { runId, messages: given });
    },
    createProcess(live = new Map<string, LiveRun>()) {
      const site: RunSite = { store, live, waitFor: async (_id, look, signal) => (await look()) ?? untilAborted(signal) };
      return (own, more = {}) => {
        const all = { provider: createMockProvider([text("Hello.")]), messages: given };
        const fields = { options: () => ({ ...all, ...own }) };
        return executeDurableRun(site, { runId, fields, createJournal, ...more });
      };
    },
    events: () => bodies.map((body) => (JSON.parse(body) as StoredEvent).event),
  };
}
