import { addUsage, noUsage } from "../../shared/count-usage.ts";
import { iterateChunks } from "../../core/kit.ts";
import { answererOf, AttemptLog } from "../../shared/attempt-log.ts";
import type { AttemptSpending } from "../../core/types/provider.ts";
import { dropIterator } from "../../shared/promises.ts";
import { estimateTokens } from "../../shared/estimate-tokens.ts";
import { followSignal } from "../../shared/signals.ts";
import type { ModelCall, ModelChunk, ModelRequest, Provider, Usage } from "../../core/index.ts";
import { toUsage } from "../../shared/plain-error.ts";

type Answerer = ReturnType<typeof answererOf>;

type ChunkOf<Type extends ModelChunk["type"]> = Extract<ModelChunk, { type: Type }>;

/** Adds up the usage of all model requests in one iteration. A new count begins for a different model, or after a discarded attempt. */
export class Account {
  #before: Usage = noUsage;
  #now: Usage | undefined;
  /** The estimated usage of requests that reported none. Zero after the estimate was sent. */
  #unreported: Usage = noUsage;
  #hasReport = false;
  #request: ModelRequest | undefined;
  #read = "";
  #hasThoughts = false;
  #thinks = false;
  readonly #logged: ModelChunk[] = [];
  readonly #log = new AttemptLog((chunk) => this.#logged.push(chunk));
  #answerer: Answerer;
  readonly #spent: AttemptSpending[] = [];

  constructor(provider: Provider) {
    this.#answerer = answererOf(provider);
  }

  get spendings(): readonly AttemptSpending[] {
    return this.#now === undefined ? [...this.#spent] : [...this.#spent, this.#toSpending(this.#now)];
  }

  /** Begins a request. Starting with the second request, restarts the attempt, so that each request gets the full time limit for its first chunk. */
  begin(request: ModelRequest): readonly ModelChunk[] {
    if (this.#now !== undefined) this.#before = addUsage(this.#before, this.#now);
    this.#endRequest();
    this.#read = "";
    this.#thinks = false;
    const isFirst = this.#request === undefined;
    this.#request = request;
    if (isFirst) return [];
    if (this.#log.isOpen) this.#log.repeat();
    else this.#log.start(this.#answerer);
    return this.#takeLogged();
  }

  /** Returns the chunks to send instead of `chunk`, or undefined to send `chunk` unchanged. */
  note(chunk: ModelChunk): readonly ModelChunk[] | undefined {
    const { type } = chunk;
    if (type === "attempt-start") return this.#start(chunk);
    if (type === "attempt-discarded") return this.#discard(chunk);
    if (type === "usage") {
      const usage = toUsage(chunk.usage);
      return [this.#use(chunk.mode === "delta" ? addUsage(this.#now ?? noUsage, usage) : usage)];
    }
    if (type === "text-delta" || type === "refusal-delta" || type === "reasoning-delta") this.#read += chunk.text;
    return type === "reasoning-delta" ? this.#think(chunk) : undefined;
  }

  /** Adds a blank line between the reasoning of two requests. */
  #think(chunk: ChunkOf<"reasoning-delta">): readonly ModelChunk[] | undefined {
    if (chunk.text === "" || this.#thinks) return undefined;
    const isFirst = !this.#hasThoughts;
    this.#thinks = true;
    this.#hasThoughts = true;
    return isFirst ? undefined : [{ type: "reasoning-delta", text: "\n\n" }, chunk];
  }

  /** Estimates the usage of a request that is closed early, because the service then reports no usage. */
  close(): ModelChunk {
    return this.#use(this.#estimate());
  }

  /**
   * Estimates the usage of a finished request that reported none. The estimate is sent only if another request in the
   * iteration reports usage, because the sum would otherwise count the finished request as free.
   */
  end(): readonly ModelChunk[] {
    if (this.#now !== undefined) return [];
    if (this.#hasReport) return [this.close()];
    this.#unreported = addUsage(this.#unreported, this.#estimate());
    return [];
  }

  fail(): readonly ModelChunk[] {
    return this.#now === undefined && this.#read !== "" ? [this.close()] : [];
  }

  /** Begins a new count if the provider or the model changes, because prices differ. */
  #start(chunk: ChunkOf<"attempt-start">): readonly ModelChunk[] {
    const { provider, model } = this.#answerer;
    const isAnother = provider !== chunk.provider || model !== chunk.model;
    const last = isAnother ? this.#settle() : [];
    if (isAnother) this.#restart();
    this.#answerer = chunk;
    this.#log.start(chunk);
    return [...last, ...this.#takeLogged()];
  }

  #discard({ error }: ChunkOf<"attempt-discarded">): readonly ModelChunk[] {
    const last = this.fail();
    if (!this.#log.isOpen) this.#log.start(this.#answerer);
    this.#log.discard(error);
    this.#restart();
    return [...last, ...this.#takeLogged()];
  }

  #settle(): readonly ModelChunk[] {
    return this.#unreported.totalTokens > 0 ? [this.#use(this.#now ?? noUsage)] : [];
  }

  #restart(): void {
    this.#before = noUsage;
    this.#endRequest();
    this.#read = "";
  }

  #endRequest(): void {
    if (this.#now !== undefined) this.#spent.push(this.#toSpending(this.#now));
    this.#now = undefined;
  }

  #toSpending(usage: Usage): AttemptSpending {
    const { provider, model } = this.#answerer;
    return { provider, model, usage };
  }

  #takeLogged(): readonly ModelChunk[] {
    return this.#logged.splice(0);
  }

  #use(usage: Usage): ModelChunk {
    if (this.#unreported.totalTokens > 0) this.#spent.push(this.#toSpending(this.#unreported));
    this.#before = addUsage(this.#before, this.#unreported);
    this.#unreported = noUsage;
    this.#now = usage;
    this.#hasReport = true;
    return { type: "usage", usage: addUsage(this.#before, usage), mode: "snapshot" };
  }

  /** Returns the estimated usage: reported input tokens are kept, and output is at least the estimated tokens of the received text. */
  #estimate(): Usage {
    const said = this.#now ?? noUsage;
    const { system = "", messages = [] } = this.#request ?? {};
    const inputTokens = said.inputTokens > 0 ? said.inputTokens : estimateTokens(system + JSON.stringify(messages, withoutBytes));
    const outputTokens = Math.max(said.outputTokens, estimateTokens(this.#read));
    return { ...said, inputTokens, outputTokens, totalTokens: Math.max(said.totalTokens, inputTokens + outputTokens) };
  }
}

/** Omits image data, because an image's tokens do not depend on its bytes. */
function withoutBytes(key: string, value: unknown): unknown {
  return key === "data" ? undefined : value;
}

/** Lets a stream's reader stop early. The current request is then abandoned, even if the provider ignores the signal. */
class Exit {
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
  // Gives the request its own signal, because it may be abandoned while the iteration continues.
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
      dropIterator(chunks);
    }
    own.release();
  }
}

/** Returns a call with a different signal. Its methods are called on `call`, because `call` may be a class instance. */
function toCall(call: ModelCall, signal: AbortSignal, before: readonly AttemptSpending[]): ModelCall {
  const { iteration, clock, timeouts, sending } = call;
  const mayAsk: ModelCall["mayAsk"] = (spent) => call.mayAsk?.([...before, ...spent]) !== false;
  return { signal, heartbeat: (state) => call.heartbeat(state), mayAsk, sending, iteration, clock, timeouts };
}

export function mayAskOn({ call, account }: Asking): boolean {
  return call.mayAsk?.(account.spendings) !== false;
}

/** Lets the reader stop while a value is pending. A plain generator would first wait for the value. */
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
