// Reads one request after another inside a stream, in such a way that whoever leaves the stream leaves the request too, deaf or not.

import type { ModelCall, ModelChunk, ModelRequest, Provider } from "../contract/provider.ts";
import type { Account } from "./account.ts";

/** How a stream made of others is left. */
export class Exit {
  #isLeft = false;
  #leave: () => void = () => {};

  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Ends what is waited for now, and all that is waited for later. */
  leave(): void {
    this.#isLeft = true;
    this.#leave();
  }

  /** Settles as `work` does, or rejects when the stream is left. One at a time. */
  until<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#leave = () => reject(new DOMException("The stream was given up.", "AbortError"));
      work.then(resolve, reject);
      if (this.#isLeft) this.#leave();
    });
  }
}

/** What reading a request takes. */
export interface Asking {
  readonly provider: Provider;
  readonly call: ModelCall;
  readonly exit: Exit;
  readonly account: Account;
}

/** The chunks of one request. Whoever stops reading closes it at once, and waits for nobody. */
export async function* readChunks(
  { provider, call, exit, account }: Asking,
  request: ModelRequest,
): AsyncGenerator<ModelChunk, void, undefined> {
  for (const chunk of account.begin()) yield chunk;
  if (call.signal.aborted || exit.isLeft) throw call.signal.reason;
  const chunks = provider.stream(request, call)[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await exit.until(chunks.next());
      if (done === true) break;
      if (value.type === "usage" || value.type === "attempt-start" || value.type === "attempt-discarded")
        yield* account.take(value);
      else yield value;
    }
    isOver = true;
  } finally {
    if (!isOver) abandon(chunks);
  }
}

/** Closes a stream, and neither waits for it nor minds what it says to that. */
function abandon(chunks: AsyncIterator<ModelChunk>): void {
  new Promise((resolve) => resolve(chunks.return?.())).catch(() => {});
}

/** A stream that can be left while it waits: leaving a generator waits until it has something to say. */
export function leavable(
  stream: AsyncGenerator<ModelChunk, void, undefined>,
  exit: Exit,
): AsyncIterableIterator<ModelChunk, void> {
  const leaving: AsyncIterableIterator<ModelChunk, void> = {
    [Symbol.asyncIterator]: () => leaving,
    next: () => stream.next(),
    return: () => {
      exit.leave();
      stream.return().catch(() => {});
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return leaving;
}
