// The events of one run, shared by all its readers.

import type { LoopEvent } from "../core/entry-kit.ts";
import { countEventBytes } from "./count-event-bytes.ts";
import type { HostedEvent } from "./hosted-event.ts";

/** A position in a log: the index of an entry, and how many characters of that entry were read. */
export interface LogCursor {
  entry: number;
  offset: number;
}

interface Waiter {
  /** Called when an event arrived. Returns true if the waiter still waits. */
  wake(): boolean;
}

type Fragment = Extract<LoopEvent, { readonly type: "text-delta" | "reasoning-delta" | "tool-args-delta" }>;

function isFragment(event: LoopEvent): event is Fragment {
  return event.type === "text-delta" || event.type === "reasoning-delta" || event.type === "tool-args-delta";
}

/** Consecutive fragments of one text, stored as one entry. */
class TextEntry {
  readonly first: Fragment;
  length: number;
  #last: Fragment;
  /** The fragments are joined only when the text is complete. Slicing a string that was built by `+=` would copy it for each reader. */
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
    // Search from the end, because most readers are only a few fragments behind.
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

/** True if two fragments belong to one text. The paths need not be compared, because all events of a run have the same path. */
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

/** The last item that was created. Readers at the same position share the item. */
interface MadeItem {
  readonly entry: number;
  readonly offset: number;
  readonly length: number;
  readonly item: HostedEvent;
}

const idPattern = /^([a-z0-9]+)-(\d{1,15})(?:-(\d{1,15}))?$/;

/**
 * Holds the events from all executions of a run in this process. Events are only appended. A reader only has a cursor into the log, so a
 * slow reader needs no buffer.
 */
export class RunLog {
  /** A random id. Each log has a different one, even if another process has a log of the same run. */
  readonly epoch: string = createEpoch();
  readonly #entries: (LoopEvent | TextEntry)[] = [];
  /** The incomplete text at the end of the log. The next fragment may continue it. */
  #open: TextEntry | undefined;
  /** For each ended execution, the number of entries in the log when the execution ended. */
  readonly #ends: number[] = [];
  #isLive = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #waiting = new Set<Waiter>();
  #made: MadeItem | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Returns the error that an execution rejected with. Only the last execution of a log can have an error. */
  failureOf(execution: number): { readonly error: unknown } | undefined {
    return execution === this.#ends.length - 1 ? this.#failure : undefined;
  }

  /** True if the last execution rejected with an error. No more events are appended then. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** The number of the live execution, counted from 0. If none is live, the number of the last execution. */
  get execution(): number {
    return this.#isLive ? this.#ends.length : Math.max(0, this.#ends.length - 1);
  }

  /** The number of entries in the log when an execution ended, or undefined while the execution is live. */
  endOf(execution: number): number | undefined {
    return this.#ends[execution];
  }

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

  /** Ends the live execution, with the error that it rejected with, if any. */
  end(failure?: { readonly error: unknown }): void {
    if (!this.#isLive) return;
    this.#close();
    this.#failure = failure;
    this.#isLive = false;
    this.#ends.push(this.#entries.length);
    this.#wake();
  }

  /** Returns the next event at a cursor, and moves the cursor. Returns undefined if no event is available before `limit`. */
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

  /** Returns the position after the event with this id, or undefined if this log does not contain the id. */
  find(id: string): LogCursor | undefined {
    const [, epoch, index, offset] = idPattern.exec(id) ?? [];
    const entry = this.#entries[Number(index)];
    if (epoch !== this.epoch || entry === undefined) return undefined;
    if (!(entry instanceof TextEntry)) return { entry: Number(index) + 1, offset: 0 };
    return { entry: Number(index), offset: Math.min(Number(offset ?? entry.length), entry.length) };
  }

  /** True if there are no events after a position and no more can arrive. False if the reader still has to get an error. */
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

/** Returns 16 random letters and digits. They distinguish logs, and need not be secret. */
function createEpoch(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 10).padEnd(8, "0");
  return digits() + digits();
}
