// Stores a run's events and records in the state of its virtual object.

import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Added, Row, StepRecord } from "../host/durable/durable-store.ts";

/** The facts about a run that its virtual object stores together. */
export interface RunHead {
  readonly loop: string;
  /** The id of the workflow in Restate. */
  readonly invocation: string;
  readonly state: "live" | "ended" | "failed";
  readonly error?: string | undefined;
  /** The number of the last execution. */
  readonly execution: number;
  /** The id of the worker that began the last execution. */
  readonly worker?: string | undefined;
  /** The number that this worker assigned to the last execution. */
  readonly claim?: number | undefined;
  /** How many executions have begun since the run last made progress. The first execution of a run does not count. */
  readonly stalls: number;
  /** The next event's position. */
  readonly next: number;
  /** The number of full chunks of events. */
  readonly chunks: number;
  /** The newest events, until they fill a chunk. They are part of the head, which each append reads anyway. */
  readonly tail: readonly string[];
  readonly messages: number;
  readonly records: number;
  /**
   * True if the workflow is resting or soon will be, because the run failed or is waiting for a message. No worker executes a resting
   * workflow. A retry or a message wakes it.
   */
  readonly isResting?: boolean | undefined;
}

export function readHead(ctx: ObjectContext | ObjectSharedContext): Promise<RunHead | null> {
  return ctx.get<RunHead>("head");
}

/** A full chunk of events. Each chunk is stored under its own key, so that it can be read separately. */
interface Chunk {
  readonly first: number;
  readonly events: readonly string[];
}

/** The length of a full chunk, in characters. */
const fullLength = 8_192;

/** The number of characters or events after which a read ends. */
const maxLength = 1_000_000;
const maxEvents = 500;

export interface Appended extends Omit<Added, "blobs"> {
  readonly execution: number;
  readonly blobs: Texts;
}

export type Texts = { readonly [id: string]: string };

const blobPrefix = "blob ";

/** Appends events and records. Returns false if a newer execution of the run has begun. */
export async function appendEvents(ctx: ObjectContext, appended: Appended): Promise<boolean> {
  const { execution, first, events, records, blobs, isProgress } = appended;
  const head = await readHead(ctx);
  if (head?.execution !== execution) return false;
  // Detects a repeated request, whose events are already stored. (One without events is not detected, and stores its records twice.)
  if (head.next !== first) return true;
  for (const [id, text] of Object.entries(blobs)) ctx.set(blobPrefix + id, text);
  for (const [index, record] of records.entries()) ctx.set<StepRecord>(`record ${head.records + index}`, record);
  const stalls = isProgress ? 0 : head.stalls;
  const changed = { ...head, stalls, records: head.records + records.length };
  ctx.set<RunHead>("head", addEvents(ctx, changed, events));
  return true;
}

function addEvents(ctx: ObjectContext, head: RunHead, fresh: readonly string[]): RunHead {
  const events = [...head.tail, ...fresh];
  const next = head.next + fresh.length;
  if (events.reduce((sum, { length }) => sum + length, 0) < fullLength) return { ...head, next, tail: events };
  ctx.set<Chunk>(`chunk ${head.chunks}`, { first: next - events.length, events });
  return { ...head, next, chunks: head.chunks + 1, tail: [] };
}

/** Returns records, starting at position `from`. Returns at least one, and stops after about a million characters. */
export async function readRecords(ctx: ObjectSharedContext, from: number): Promise<readonly StepRecord[]> {
  const head = await readHead(ctx);
  const found: StepRecord[] = [];
  let length = 0;
  for (let index = from; index < (head?.records ?? 0) && length < maxLength; index += 1) {
    const record = await ctx.get<StepRecord>(`record ${index}`);
    if (record === null) break;
    found.push(record);
    length += record.body.length;
  }
  return found;
}

export async function readTextIds(ctx: ObjectSharedContext): Promise<readonly string[]> {
  const keys = await ctx.stateKeys();
  return keys.filter((key) => key.startsWith(blobPrefix)).map((key) => key.slice(blobPrefix.length));
}

/** Returns stored strings in the order of `ids`. Returns at least one, and stops when they reach a million characters in total. */
export async function readTexts(
  ctx: ObjectSharedContext,
  ids: readonly string[],
): Promise<{ readonly [id: string]: string | null }> {
  const texts: { [id: string]: string | null } = {};
  let length = 0;
  for (const id of ids) {
    const text = await ctx.get<string>(blobPrefix + id);
    texts[id] = text;
    length += text?.length ?? 0;
    if (length >= maxLength) break;
  }
  return texts;
}

export interface EventsWanted {
  readonly from: number;
  /** The chunk at which the reader's previous read ended. */
  readonly chunk?: number | undefined;
}

export interface EventsFound {
  readonly rows: readonly Row<string>[];
  readonly chunk: number;
}

export async function readEvents(ctx: ObjectSharedContext, { from, chunk: known }: EventsWanted): Promise<EventsFound> {
  const head = await readHead(ctx);
  const rows: Row<string>[] = [];
  if (head === null || from >= head.next) return { rows, chunk: known ?? 0 };
  let number = known ?? (await findChunk(ctx, from, head));
  for (let length = 0; ; number += 1) {
    const found = rowsOf(await readChunk(ctx, number, head), from);
    rows.push(...found);
    length += found.reduce((sum, { body }) => sum + body.length, 0);
    if (number >= head.chunks || length >= maxLength || rows.length >= maxEvents) return { rows, chunk: number };
  }
}

async function readChunk(ctx: ObjectSharedContext, number: number, { chunks, next, tail }: RunHead): Promise<Chunk | null> {
  return number < chunks ? ctx.get<Chunk>(`chunk ${number}`) : { first: next - tail.length, events: tail };
}

function rowsOf(chunk: Chunk | null, from: number): readonly Row<string>[] {
  if (chunk === null) return [];
  return chunk.events.map((body, index) => ({ seq: chunk.first + index, body })).filter(({ seq }) => seq >= from);
}

/** Finds the number of the chunk that contains the event at position `from`. */
async function findChunk(ctx: ObjectSharedContext, from: number, head: RunHead): Promise<number> {
  let [low, high] = [0, from === 0 ? 0 : head.chunks];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const chunk = await readChunk(ctx, middle, head);
    if (chunk !== null && chunk.first <= from) low = middle;
    else high = middle - 1;
  }
  return low;
}
