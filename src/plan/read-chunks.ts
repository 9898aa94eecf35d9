import {
  type AttemptSpending,
  followSignal,
  iterateChunks,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
} from "../core/entry-kit.ts";
import type { Account } from "./account.ts";

/** Lets the reader of a stream stop early. The current request is then abandoned, even if the provider ignores the signal. */
export class Exit {
  #isLeft = false;
  #leave: () => void = () => {};

  leave(): void {
    this.#isLeft = true;
    this.#leave();
  }

  throwIfLeft(): void {
    if (this.#isLeft) throw givenUp();
  }

  /** Waits for `work`, but rejects when the reader stops early. Only one wait may be pending at a time. */
  until<T>(work: T | PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#leave = () => reject(givenUp());
      Promise.resolve(work).then(resolve, reject);
      if (this.#isLeft) this.#leave();
    });
  }
}

function givenUp(): DOMException {
  return new DOMException("The stream was abandoned.", "AbortError");
}

export interface Asking {
  readonly provider: Provider;
  readonly call: ModelCall;
  readonly exit: Exit;
  readonly account: Account;
}

export async function* readChunks(
  { provider, call, exit, account }: Asking,
  request: ModelRequest,
): AsyncGenerator<ModelChunk, void, undefined> {
  yield* account.begin(request);
  const before = account.spendings;
  call.signal.throwIfAborted();
  exit.throwIfLeft();
  // The request has a separate signal, because the request may be abandoned while the iteration continues.
  const own = followSignal(call.signal);
  let isOpen = true;
  let hasFinished = false;
  let chunks: AsyncIterator<ModelChunk> | undefined;
  try {
    chunks = iterateChunks(provider.stream(request, toCall(call, own.signal, before)));
    for (;;) {
      const { done, value } = await exit.until(chunks.next());
      if (done === true) break;
      if (value.type === "error") yield* account.fail();
      hasFinished ||= value.type === "finish";
      const said = account.note(value);
      if (said === undefined) yield value;
      else yield* said;
    }
    isOpen = false;
    if (!hasFinished) yield* account.fail();
  } catch (error) {
    yield* account.fail();
    throw error;
  } finally {
    if (isOpen) {
      own.abort(givenUp());
      abandon(chunks);
    }
    own.release();
  }
}

/** The new object calls the methods on `call`, because `call` may be an instance of a class. */
function toCall(call: ModelCall, signal: AbortSignal, before: readonly AttemptSpending[]): ModelCall {
  const { iteration, clock, timeouts, sending } = call;
  const mayAsk: ModelCall["mayAsk"] = (spent) => call.mayAsk?.([...before, ...spent]) !== false;
  return { signal, heartbeat: (state) => call.heartbeat(state), mayAsk, sending, iteration, clock, timeouts };
}

export function mayAskOn({ call, account }: Asking): boolean {
  return call.mayAsk?.(account.spendings) !== false;
}

/** Closes a stream without waiting for its end. */
function abandon(chunks: AsyncIterator<ModelChunk> | undefined): void {
  new Promise((resolve) => resolve(chunks?.return?.())).catch(() => {});
}

/** The reader can stop while a value is pending. A plain generator would first wait for the value. */
export function leavable(
  open: (exit: Exit) => AsyncGenerator<ModelChunk, void, undefined>,
): AsyncIterableIterator<ModelChunk, void> {
  const exit = new Exit();
  const stream = open(exit);
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
