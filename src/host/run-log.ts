import type { LoopEvent } from "../core/index.ts";
import type { HostedEvent } from "./run-host.ts";

/** The maximum number of values to count when estimating an event's size. Counting a larger result would delay the run. */
const maxValues = 10_000;

/** Estimates the memory that an event uses, in bytes. Strings and binary data are counted by length, and other values at a fixed size. */
function countEventBytes(event: LoopEvent): number {
  const seen = new Set<object>();
  const todo: unknown[] = [event];
  let bytes = 0;
  for (let count = 0; count < maxValues; count += 1) {
    const value = todo.pop();
    if (typeof value === "string") bytes += 2 * value.length;
    else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      bytes += ArrayBuffer.isView(value) ? value.byteLength : addFields(value, todo);
    }
    if (todo.length === 0) break;
    bytes += 16;
  }
  return bytes;
}

function addFields(value: object, todo: unknown[]): number {
  try {
    const fields: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let index = 0; index < Math.min(fields.length, maxValues); index += 1) todo.push(fields[index]);
    return 32 + 8 * fields.length;
  } catch {
    // A getter in a tool's data may throw, in which case the value counts as 0 bytes.
    return 0;
  }
}

/** A position in a log: an entry's index, and the number of characters already read from that entry. */
export interface LogCursor {
  entry: number;
  offset: number;
}

interface Waiter {
  /** Called for each new event, and when the run ends or is suspended. Returns true if the woken reader needs more events. */
  wake(): boolean;
}

type Fragment = Extract<LoopEvent, { readonly type: "text-delta" | "reasoning-delta" | "tool-args-delta" }>;

function isFragment(event: LoopEvent): event is Fragment {
  return event.type === "text-delta" || event.type === "reasoning-delta" || event.type === "tool-args-delta";
}

/** Consecutive fragments of the same text, stored as one log entry. */
class TextEntry {
  readonly first: Fragment;
  length: number;
  #last: Fragment;
  /**
   * The fragments, which are joined only when the text is complete. Appending with `+=` would make each reader's `slice` copy the whole
   * string.
   */
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

  after(offset: number): Fragment {
    if (this.#whole === undefined && offset === this.length - this.#last.text.length) return this.#last;
    return { ...this.first, text: this.#textAfter(offset) };
  }

  #textAfter(offset: number): string {
    if (this.#whole !== undefined) return this.#whole.slice(offset);
    // Searches from the end, because most readers already have all but the last few fragments.
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

/** True if two fragments belong to the same text. Does not compare their paths, because all events with one `runId` have the same path. */
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

/** The event most recently created for a reader. Other readers at the same position receive the same object. */
interface MadeItem {
  readonly entry: number;
  readonly offset: number;
  readonly length: number;
  readonly item: HostedEvent;
}

const idPattern = /^([a-z0-9]+)-(\d{1,15})(?:-(\d{1,15}))?$/;

/**
 * The events of a run since this process began or resumed it, shared by all readers. Each reader has only a cursor into the log,
 * so a slow reader needs no buffer.
 */
export class RunLog {
  /** This log's random id. It differs even between logs of the same run in different processes. */
  readonly epoch: string = createEpoch();
  readonly #entries: (LoopEvent | TextEntry)[] = [];
  /** The incomplete text at the end of the log, which the next fragment may continue. */
  #open: TextEntry | undefined;
  /**
   * How many entries the log had when each execution ended. The first execution is the start of the run, and each resume is
   * another execution.
   */
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

  /** Returns the error with which an execution rejected, if any. Only the last one can have rejected. */
  failureOf(execution: number): { readonly error: unknown } | undefined {
    return execution === this.#ends.length - 1 ? this.#failure : undefined;
  }

  /** True if the last start or resume of the run rejected with an error. The log then receives no more events. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** The number of the current or last execution: 0 for the start of the run, 1 for its first resume, and so on. */
  get execution(): number {
    return this.#isLive ? this.#ends.length : Math.max(0, this.#ends.length - 1);
  }

  /** Returns the number of entries at the end of an execution. Undefined while it is live. */
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

  /** Called when the run ends or is suspended. If the run rejected, `failure` contains the error. */
  end(failure?: { readonly error: unknown }): void {
    if (!this.#isLive) return;
    this.#close();
    this.#failure = failure;
    this.#isLive = false;
    this.#ends.push(this.#entries.length);
    this.#wake();
  }

  /** Returns the next event at a cursor, and moves the cursor. Returns undefined if the cursor has reached the entry `limit`. */
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

  /** Returns the position after the event with this id, or undefined if this log has no such event. */
  find(id: string): LogCursor | undefined {
    const [, epoch, index, offset] = idPattern.exec(id) ?? [];
    const entry = this.#entries[Number(index)];
    if (epoch !== this.epoch || entry === undefined) return undefined;
    if (!(entry instanceof TextEntry)) return { entry: Number(index) + 1, offset: 0 };
    return { entry: Number(index), offset: Math.min(Number(offset ?? entry.length), entry.length) };
  }

  /** True if no event or error will ever follow the position. */
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

/** Returns 16 random letters and digits. They only tell logs apart, so `Math.random` is enough. */
function createEpoch(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 10).padEnd(8, "0");
  return digits() + digits();
}
