// The events of one run, shared by all its readers.

import type { LoopEvent } from "../core/entry-kit.ts";
import { countEventBytes } from "./count-event-bytes.ts";
import type { HostedEvent } from "./hosted-event.ts";

/** A place in a log: an entry, and how many characters of it were read. */
export interface LogCursor {
  entry: number;
  offset: number;
}

/** Something that waits for the next event of a log. */
interface Waiter {
  /** Takes what has come. Returns true if it goes on waiting. */
  wake(): boolean;
}

type Fragment = Extract<LoopEvent, { readonly type: "text-delta" | "reasoning-delta" | "tool-args-delta" }>;

function isFragment(event: LoopEvent): event is Fragment {
  return event.type === "text-delta" || event.type === "reasoning-delta" || event.type === "tool-args-delta";
}

/** Consecutive fragments of one text. */
class TextEntry {
  readonly first: Fragment;
  length: number;
  #last: Fragment;
  /** Kept apart while the text grows. A text built by `+=` would be flattened for each reader that takes a part of it. */
  #chunks: string[];
  #whole: string | undefined;

  constructor(first: Fragment) {
    this.first = first;
    this.length = first.text.length;
    this.#last = first;
    this.#chunks = [first.text];
  }

  add(event: Fragment): void {
    this.#last = event;
    this.#chunks.push(event.text);
    this.length += event.text.length;
  }

  close(): void {
    this.#whole = this.#chunks.join("");
    this.#chunks = [];
  }

  /** True once no more fragments are added. */
  get isClosed(): boolean {
    return this.#whole !== undefined;
  }

  /** Returns everything after the first `offset` characters as one event. */
  after(offset: number): Fragment {
    if (this.#whole === undefined && offset === this.length - this.#last.text.length) return this.#last;
    return { ...this.first, text: this.#textAfter(offset) };
  }

  #textAfter(offset: number): string {
    if (this.#whole !== undefined) return this.#whole.slice(offset);
    // From the end, because most readers are only a few chunks behind.
    let index = this.#chunks.length;
    let start = this.length;
    while (start > offset) {
      index -= 1;
      start -= this.#chunks[index]?.length ?? 0;
    }
    const rest = this.#chunks.slice(index).join("");
    return start === offset ? rest : rest.slice(offset - start);
  }
}

/** True if two fragments are part of one text. A run has one path, so its id says enough. */
function isContinued(one: Fragment, next: Fragment): boolean {
  return (
    one.type === next.type &&
    one.runId === next.runId &&
    one.iteration === next.iteration &&
    one.replayed === next.replayed &&
    isSameSource(one, next)
  );
}

function isSameSource(one: Fragment, next: Fragment): boolean {
  if (one.type !== "tool-args-delta") return next.type !== "tool-args-delta" && one.attempt === next.attempt;
  return next.type === "tool-args-delta" && one.callId === next.callId && one.name === next.name && one.index === next.index;
}

/** The last item that was made. Readers that are equally far share it. */
interface MadeItem {
  readonly entry: number;
  readonly offset: number;
  readonly length: number;
  readonly item: HostedEvent;
}

const idPattern = /^([a-z0-9]+)-(\d{1,15})(?:-(\d{1,15}))?$/;

/**
 * Holds the events of a run, over all its executions in this process. Only appended to. A reader is a cursor into it, so a slow
 * reader holds nothing of its own.
 */
export class RunLog {
  /** Differs for each log, also of the same run in another process. */
  readonly epoch: string = createEpoch();
  readonly #entries: (LoopEvent | TextEntry)[] = [];
  /** The text that the next fragment may continue. */
  #open: TextEntry | undefined;
  /** The number of entries at the end of each execution. */
  readonly #ends: number[] = [];
  #isLive = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #waiting = new Set<Waiter>();
  #made: MadeItem | undefined;
  #bytes = 0;

  /** The size of the events in memory, estimated. */
  get bytes(): number {
    return this.#bytes;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Returns the error that broke an execution. Only the last one of a log can break. */
  failureOf(execution: number): { readonly error: unknown } | undefined {
    return execution === this.#ends.length - 1 ? this.#failure : undefined;
  }

  /** True if the last execution broke. Nothing is appended any more. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** The number of the current execution, or of the last one, from 0. */
  get execution(): number {
    return this.#isLive ? this.#ends.length : Math.max(0, this.#ends.length - 1);
  }

  /** The number of entries at the end of an execution; undefined while it is live. */
  endOf(execution: number): number | undefined {
    return this.#ends[execution];
  }

  /** Begins an execution. */
  begin(): void {
    this.#isLive = true;
  }

  append(event: LoopEvent): void {
    if (!this.#isLive) return;
    if (!isFragment(event)) {
      this.#close();
      this.#entries.push(event);
      this.#bytes += countEventBytes(event);
    } else if (event.text === "") return;
    else this.#addFragment(event);
    this.#wake();
  }

  /** Ends an execution. */
  end(failure?: { readonly error: unknown }): void {
    if (!this.#isLive) return;
    this.#close();
    this.#failure = failure;
    this.#isLive = false;
    this.#ends.push(this.#entries.length);
    this.#wake();
  }

  /** Takes the next event for a reader, and moves its cursor. Undefined if there is none before `limit`. */
  take(cursor: LogCursor, limit: number = this.#entries.length): HostedEvent | undefined {
    for (;;) {
      const entry = cursor.entry < limit ? this.#entries[cursor.entry] : undefined;
      if (entry === undefined) return undefined;
      if (!(entry instanceof TextEntry)) {
        const item = this.#make(cursor, 0, entry);
        cursor.entry += 1;
        cursor.offset = 0;
        return item;
      }
      if (cursor.offset < entry.length) {
        const item = this.#make(cursor, entry.length, entry);
        cursor.offset = entry.length;
        return item;
      }
      if (!entry.isClosed) return undefined;
      cursor.entry += 1;
      cursor.offset = 0;
    }
  }

  /** Returns the place after the event with an id; undefined if the id is not one of this log. */
  find(id: string): LogCursor | undefined {
    const [, epoch, index, offset] = idPattern.exec(id) ?? [];
    const entry = this.#entries[Number(index)];
    if (epoch !== this.epoch || entry === undefined) return undefined;
    if (!(entry instanceof TextEntry)) return { entry: Number(index) + 1, offset: 0 };
    return { entry: Number(index), offset: Math.min(Number(offset ?? entry.length), entry.length) };
  }

  /** True if the log has nothing after a place, and nothing is about to come. */
  isOverAt({ entry, offset }: LogCursor): boolean {
    if (this.#isLive || this.#failure !== undefined) return false;
    const at = this.#entries[entry];
    return at === undefined || (entry === this.#entries.length - 1 && at instanceof TextEntry && offset >= at.length);
  }

  wait(waiter: Waiter): void {
    this.#waiting.add(waiter);
  }

  leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }

  #addFragment(event: Fragment): void {
    this.#bytes += 2 * event.text.length;
    if (this.#open !== undefined && isContinued(this.#open.first, event)) return this.#open.add(event);
    this.#close();
    this.#open = new TextEntry(event);
    this.#entries.push(this.#open);
    this.#bytes += 200;
  }

  #close(): void {
    this.#open?.close();
    this.#open = undefined;
  }

  #make({ entry, offset }: LogCursor, length: number, given: LoopEvent | TextEntry): HostedEvent {
    const made = this.#made;
    if (made !== undefined && made.entry === entry && made.offset === offset && made.length === length) return made.item;
    const isText = given instanceof TextEntry;
    const id = isText ? `${this.epoch}-${entry}-${length}` : `${this.epoch}-${entry}`;
    const item = { id, event: isText ? given.after(offset) : given };
    this.#made = { entry, offset, length, item };
    return item;
  }

  #wake(): void {
    for (const waiter of this.#waiting) if (!waiter.wake()) this.#waiting.delete(waiter);
  }
}

/** Returns 16 random digits. They tell logs apart, and are no secret. */
function createEpoch(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 10).padEnd(8, "0");
  return digits() + digits();
}
