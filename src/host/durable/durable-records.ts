// Stores each long string of a durable run once, under an id computed from it. For example, a call's record and its `tool-end` event refer
// to the same tool result.

import type { Journal, LoopEvent, Message } from "../../core/index.ts";
import { isRecord } from "../../core/kit.ts";
import { toBlobId } from "../../journal/with-blobs.ts";
import { withBlobs } from "../../journal/index.ts";
import type { DurableStore } from "./durable-store.ts";
import { readRecordJournal } from "./record-journal.ts";

type Blobs = ReadonlyMap<string, string>;

/**
 * The minimum size of a value to store under an id, in bytes of JSON text. For a smaller value, the id would take more space than it saves.
 */
const minBytes = 1_000;

/** Returns a journal that passes each large string to `put` before it writes the record that refers to it. */
export function storeLargeParts(
  journal: Journal,
  { put, get }: { put(id: string, text: string): void; get(): Promise<Blobs> },
): Journal {
  const packed = withBlobs(journal, { store: { put, get }, minBytes });
  return {
    ...packed,
    // Leaves the messages out of the run's first record, because the workflow's input already contains them.
    step: (key, body) =>
      packed.step(key, key === "run" ? async () => withMessages(await body(), []) as Awaited<ReturnType<typeof body>> : body),
  };
}

/** Returns a journal for readers, which also loads the parts that are stored separately. `messages` are the messages that the run began with. */
export function readLargeParts(
  store: Pick<DurableStore, "readBlobs" | "readRecords">,
  { runId, messages }: { readonly runId: string; readonly messages: readonly Message[] },
): Journal {
  const records = readRecordJournal(() => store.readRecords(runId));
  let texts: Promise<Blobs> | undefined;
  const packed = withBlobs(records, { store: { put: () => {}, get: () => (texts ??= store.readBlobs(runId)) }, minBytes });
  return {
    ...packed,
    read: async (key) => {
      const found = await packed.read(key);
      return key === "run" ? withMessages(found, messages) : found;
    },
  };
}

function withMessages(record: unknown, messages: readonly Message[]): unknown {
  return isRecord(record) ? { ...record, messages } : record;
}

/** Fields of events that may be large and are also in records. */
const largeFields = ["result", "args"] as const;

/**
 * An event in its stored form. `blobs` contains the ids of large strings, by event field. These fields are null in
 * `event`.
 */
export interface StoredEvent {
  readonly event: LoopEvent;
  readonly blobs?: { readonly [field: string]: string } | undefined;
}

/** Moves an event's large fields into `texts`. */
export function packEvent(event: LoopEvent, texts: Map<string, string>): StoredEvent {
  const fields: { [field: string]: unknown } = { ...event };
  const blobs: { [field: string]: string } = {};
  for (const field of largeFields) {
    const text = fields[field] === undefined ? undefined : JSON.stringify(fields[field]);
    if (text === undefined || Buffer.byteLength(text) <= minBytes) continue;
    const id = toBlobId(text);
    texts.set(id, text);
    blobs[field] = id;
    fields[field] = null;
  }
  return Object.keys(blobs).length === 0 ? { event } : { event: fields as unknown as LoopEvent, blobs };
}

/** Restores events with their large strings. Returns undefined if a string is missing, because the run was deleted in the meantime. */
export async function unpackEvents(
  store: DurableStore,
  runId: string,
  stored: readonly StoredEvent[],
): Promise<readonly LoopEvent[] | undefined> {
  const ids = new Set(stored.flatMap(({ blobs = {} }) => Object.values(blobs)));
  const texts: Blobs = ids.size === 0 ? new Map() : await store.readBlobs(runId, [...ids]);
  if ([...ids].some((id) => !texts.has(id))) return undefined;
  return stored.map(({ event, blobs = {} }) => {
    const large = Object.entries(blobs).map(([field, id]) => [field, JSON.parse(texts.get(id) ?? "null") as unknown] as const);
    return { ...event, ...Object.fromEntries(large) };
  });
}
