import {
  defineTool,
  type Journal,
  type LoopEvent,
  type LoopResult,
  memoryJournal,
  type SavedJournal,
  type Tool,
  type ToolContext,
} from "turnwright";
import { type ConversationStore, memoryConversationStore, type StoredConversation } from "turnwright/conversation";
import type { ConversationLock, StoredRun } from "../../src/conversation/conversation-store.ts";
import { createRunHost, type HostedEvent, type RunHost, type StartAnswer } from "turnwright/host";
import type { RunHostOptions } from "../../src/host/run-host.ts";
import { createMockProvider, createTestClock, type MockProvider, type MockScript, type TestClock } from "turnwright/testing";

export interface Stage {
  /** No other test uses this conversation id, because a `runId` must be unique in the process. */
  readonly id: string;
  readonly host: RunHost;
  readonly clock: TestClock;
}

export function createStage(options: RunHostOptions = {}): Stage {
  const clock = createTestClock();
  stages += 1;
  return { id: `chat ${stages}`, host: createRunHost({ clock, ...options }), clock };
}

let stages = 0;

export async function readStart(given: Promise<StartAnswer> | StartAnswer | undefined): Promise<LoopResult> {
  const answer = await given;
  if (answer?.kind === "started") return answer.result;
  throw new Error(`The start was ${answer?.kind}.`);
}

export function playing(script: MockScript, clock: TestClock): { readonly provider: MockProvider; readonly clock: TestClock } {
  return { provider: createMockProvider(script), clock };
}

export function tool(name: string, execute: (args: unknown, context: ToolContext) => unknown, traits: Partial<Tool> = {}): Tool {
  return defineTool({ name, description: name, inputSchema: { type: "object" }, ...traits, execute });
}

export async function readAll(source: AsyncIterable<HostedEvent> | undefined): Promise<readonly HostedEvent[]> {
  const items: HostedEvent[] = [];
  for await (const item of source ?? []) items.push(item);
  return items;
}

export const eventsOf = (items: readonly HostedEvent[]): readonly LoopEvent[] => items.map(({ event }) => event);

export const typesOf = (items: readonly HostedEvent[]): readonly string[] =>
  items.map(({ event }) => event.type).filter((type) => !type.endsWith("-delta"));

export const textOf = (items: readonly HostedEvent[]): string =>
  items.map(({ event }) => (event.type === "text-delta" ? event.text : "")).join("");

interface SharedStore extends ConversationStore {
  lastRun(id: string): StoredRun | undefined;
  journal(runId: string): Journal;
}

/** An in-memory store. Like a store on disk, it keeps only copies. */
export function sharedStore(): SharedStore {
  const memory = memoryConversationStore();
  const journals = new Map<string, SavedJournal["steps"]>();
  return {
    ...memory,
    lastRun: (id) => (memory.load(id) as StoredConversation | undefined)?.state.lastRun,
    load: (id) => structuredClone(memory.load(id)),
    lock: async (id) => {
      const lock = await memory.lock(id);
      const append: ConversationLock["append"] = (change) => lock.append(structuredClone(change));
      return { ...lock, stored: structuredClone(lock.stored), append };
    },
    journal: (runId) => savingJournal(journals, runId),
    removeJournal: (runId) => void journals.delete(runId),
  };
}

/** Calls `before` before each change. */
export function watchAppend(
  store: ConversationStore,
  before: (status: string | undefined) => void | Promise<void>,
): ConversationStore {
  return {
    ...store,
    lock: async (id) => {
      const lock = await store.lock(id);
      const append: ConversationLock["append"] = async (change) => {
        await before(change.state.lastRun?.status);
        return lock.append(change);
      };
      return { ...lock, append };
    },
  };
}

function savingJournal(journals: Map<string, SavedJournal["steps"]>, key: string): Journal {
  const inner = memoryJournal({ steps: structuredClone(journals.get(key) ?? {}) });
  const save = <T>(value: T): T => {
    journals.set(key, structuredClone(inner.toJSON().steps));
    return value;
  };
  return {
    ...inner,
    step: (key, body) => {
      const answer = inner.step(key, body);
      return isThenable(answer) ? answer.then(save) : save(answer);
    },
  };
}

function isThenable<T>(value: PromiseLike<T> | T): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

export function crashing(store: SharedStore, crashAt: number): ConversationStore {
  let left = crashAt;
  const count = (): void => {
    if (left <= 0) throw new Error("The store is gone.");
    left -= 1;
  };
  const watched = watchAppend(store, (status) => (status === "running" ? undefined : count()));
  return {
    ...watched,
    journal: (runId) => {
      const journal = store.journal(runId);
      return {
        ...journal,
        step: (key, body) => {
          count();
          return journal.step(key, body);
        },
      };
    },
  };
}

/** Stores the last run of a conversation as if its process had died before it stored the ending. */
export async function cutOff(store: ConversationStore, id: string): Promise<void> {
  const lock = await store.lock(id);
  const state = lock.stored?.state;
  if (state?.lastRun === undefined) throw new Error("The conversation has no run.");
  const { reason: _, ...run } = state.lastRun;
  const lastRun: StoredRun = { ...run, status: "running" };
  await lock.append({ from: run.start, messages: [], state: { ...state, undelivered: [], lastRun } });
  await lock.release();
}
