// A queue between a run and the reader of its events. Nothing is dropped, and a slow reader can pause the model.

/** The resolve function of a waiting reader. */
type Reader<T> = (result: IteratorResult<T, undefined> | Promise<never>) => void;

/** Holds items until they are read. */
export class EventQueue<T> {
  readonly #items: T[] = [];
  #first = 0;
  #reading = false;
  #ended = false;
  /** The error that the iteration ends with, if there is one. */
  #failure: { readonly error: unknown } | undefined;
  /** The waiting reader. Usually there is at most one. */
  #reader: Reader<T> | undefined;
  /** Further waiting readers, oldest first. */
  readonly #otherReaders: Reader<T>[] = [];
  #room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;
  readonly #capacity: number;

  /** @param capacity how many unread items fill the queue, once somebody reads */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** Adds an item. Ignored after the end. */
  push(item: T): void {
    if (this.#ended) return;
    const reader = this.#takeReader();
    if (reader === undefined) this.#items.push(item);
    else reader({ done: false, value: item });
  }

  /** Ends the queue. Remaining items can still be read. */
  end(): void {
    this.#ended = true;
    this.#openRoom();
    for (let reader = this.#takeReader(); reader !== undefined; reader = this.#takeReader()) reader(this.#last());
  }

  /** Ends the queue with an error, which is thrown after the remaining items. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** Returns the next item, or a promise of it. Marks the queue as being read. */
  next(): Promise<IteratorResult<T, undefined>> {
    this.#reading = true;
    if (this.length > 0) return Promise.resolve({ done: false, value: this.#shift() });
    this.#openRoom();
    if (this.#ended) return Promise.resolve(this.#last());
    return new Promise((resolve) => {
      if (this.#reader === undefined) this.#reader = resolve;
      else this.#otherReaders.push(resolve);
    });
  }

  /** Drops unread items and resumes the writer, because nobody reads any more. */
  leave(): void {
    this.#items.length = 0;
    this.#first = 0;
    this.#reading = false;
    this.end();
  }

  /**
   * Returns undefined if there is room. Otherwise resolves once the reader has read half of the items. Before the first read
   * there is always room.
   */
  room(): Promise<void> | undefined {
    if (!this.#reading || this.#ended || this.length < this.#capacity) return undefined;
    if (this.#room === undefined) {
      let open = (): void => {};
      const promise = new Promise<void>((resolve) => {
        open = resolve;
      });
      this.#room = { promise, open };
    }
    return this.#room.promise;
  }

  #takeReader(): Reader<T> | undefined {
    const reader = this.#reader;
    this.#reader = this.#otherReaders.length === 0 ? undefined : this.#otherReaders.shift();
    return reader;
  }

  /** Returns the end of the iteration. A failure is thrown once. */
  #last(): Promise<never> | { done: true; value: undefined } {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? { done: true, value: undefined } : Promise.reject(failure.error);
  }

  /** Takes the oldest item. The array is compacted when half of it is read, so that each item is moved at most once on average. */
  #shift(): T {
    const item = this.#items[this.#first] as T;
    this.#items[this.#first] = undefined as T;
    this.#first += 1;
    if (this.length === 0 || this.#first >= Math.max(this.#capacity, this.#items.length / 2)) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    if (this.length < this.#capacity / 2) this.#openRoom();
    return item;
  }

  #openRoom(): void {
    this.#room?.open();
    this.#room = undefined;
  }
}
