// A queue between a run and the reader of its events. Stores unread items, and lets a slow reader pause the model.

type Reader<T> = (result: IteratorResult<T, undefined> | Promise<never>) => void;

export class EventQueue<T> {
  readonly #items: T[] = [];
  #first = 0;
  #reading = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #reader: Reader<T> | undefined;
  readonly #otherReaders: Reader<T>[] = [];
  #room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;
  readonly #capacity: number;

  /** @param capacity the number of unread items that fills the queue. Before the first read, the queue is never full. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** True if no item is left and none can follow. */
  get isOver(): boolean {
    return this.#ended && this.length === 0 && this.#failure === undefined;
  }

  get length(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    if (this.#ended) return;
    const reader = this.#takeReader();
    if (reader === undefined) this.#items.push(item);
    else reader({ done: false, value: item });
  }

  end(): void {
    this.#ended = true;
    this.#openRoom();
    for (let reader = this.#takeReader(); reader !== undefined; reader = this.#takeReader()) reader(this.#last());
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

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

  leave(): void {
    this.#items.length = 0;
    this.#first = 0;
    this.#reading = false;
    this.end();
  }

  /**
   * Returns undefined if the queue is not full. If the queue is full, returns a promise that resolves when half of the items have
   * been read. Before the first read, the queue is never full.
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

  /** Returns the result that ends the async iteration. If the queue has failed, only the first call rejects with the failure. */
  #last(): Promise<never> | { done: true; value: undefined } {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? { done: true, value: undefined } : Promise.reject(failure.error);
  }

  /** Removes the oldest item. Compacts the array only after half of it has been read, so that each item moves at most once on average. */
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
