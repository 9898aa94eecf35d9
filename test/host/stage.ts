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
import {
  type ConversationRecord,
  createRunHost,
  type HostedEvent,
  type RunHost,
  type RunHostOptions,
  type RunStore,
  type StartAnswer,
} from "turnwright/host";
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

/** An in-memory store. Like a store on disk, it keeps only JSON. */
export function sharedStore(): RunStore & { readonly records: Map<string, ConversationRecord> } {
  const records = new Map<string, ConversationRecord>();
  const journals = new Map<string, SavedJournal["steps"]>();
  return {
    records,
    read: (id) => structuredClone(records.get(id)),
    write: (id, record) => void records.set(id, structuredClone(record)),
    journal: (id, number) => savingJournal(journals, JSON.stringify([id, number])),
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

export function crashing(store: RunStore, crashAt: number): RunStore {
  let left = crashAt;
  const count = (): void => {
    if (left <= 0) throw new Error("The store is gone.");
    left -= 1;
  };
  return {
    read: (id) => store.read(id),
    write: (id, record) => {
      if (record.status !== "running") count();
      return store.write(id, record);
    },
    journal: (id, number) => {
      const journal = store.journal(id, number);
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
