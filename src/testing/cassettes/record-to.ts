import { assertProvider } from "../../shared/errors/provider-checks.ts";
import { checkFields, type Checks, invalidOption, is, iterateChunks, wrapProvider } from "../../core/kit.ts";
import { dropIterator, dropPromise } from "../../shared/promises.ts";
import { type ModelCall, type ModelChunk, type Provider, toProviderError } from "../../core/index.ts";
import {
  type Cassette,
  type CassetteRecord,
  type Happening,
  isChunk,
  type Line,
  toCassette,
  toHead,
  toLine,
} from "./cassette.ts";
import { toThrown } from "./replay-from.ts";
import { printRequest } from "./request-print.ts";

interface StreamTape {
  readonly stream: number;
  readonly redact?: ((record: CassetteRecord) => ModelChunk) | undefined;
  write(line: Line): void;
}

/** The stream that the loop reads. Records each event before the loop receives it. */
class RecordedStream implements AsyncIterableIterator<ModelChunk, undefined> {
  readonly #call: ModelCall;
  readonly #tape: StreamTape;
  readonly #startedAt: number;
  #iterator: AsyncIterator<ModelChunk> | undefined;
  #lastMs = 0;
  #awaited = 0;
  #isListening = false;
  #isOver = false;

  constructor(call: ModelCall, tape: StreamTape) {
    this.#call = call;
    this.#tape = tape;
    this.#startedAt = call.clock.now();
  }

  open(ask: (call: ModelCall) => AsyncIterable<ModelChunk>): void {
    const { signal, iteration, clock, timeouts, sending } = this.#call;
    const heartbeat: ModelCall["heartbeat"] = (state) => {
      if (!this.#isOver && this.#elapsedMs() > this.#lastMs) this.#tell({ type: "heartbeat" });
      this.#call.heartbeat(state);
    };
    try {
      this.#iterator = iterateChunks(ask({ signal, iteration, clock, timeouts, heartbeat, sending }));
    } catch (error) {
      throw this.#fail(error);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelChunk, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    this.#listen();
    this.#awaited += 1;
    const result = await this.#pull();
    this.#awaited -= 1;
    if (this.#isOver) return { done: true, value: undefined };
    if (result.done === true) {
      this.#tell({ type: "ended" });
      this.#close();
      return { done: true, value: undefined };
    }
    try {
      return { done: false, value: this.#keep(result.value) };
    } catch (error) {
      // If a chunk cannot be recorded, closes the stream without writing an end event, so that a replay of this recording fails as
      // incomplete.
      this.#close();
      dropIterator(this.#iterator);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<ModelChunk, undefined>> {
    try {
      if (!this.#isOver) this.#tell({ type: "left", waiting: this.#awaited > 0 });
    } finally {
      this.#close();
      await this.#iterator?.return?.();
    }
    return { done: true, value: undefined };
  }

  async #pull(): Promise<IteratorResult<ModelChunk>> {
    try {
      return (await this.#iterator?.next()) ?? { done: true, value: undefined };
    } catch (error) {
      throw this.#isOver ? error : this.#fail(error);
    }
  }

  #keep(chunk: ModelChunk): ModelChunk {
    const written = this.#toWritten(chunk);
    this.#tell({ type: "chunk", chunk: written });
    return written;
  }

  #toWritten(chunk: unknown): ModelChunk {
    const copy = copyOf(isChunk(chunk) && chunk.type === "error" ? { ...chunk, error: toProviderError(chunk.error) } : chunk);
    if (!isChunk(copy))
      throw new TypeError('The provider streamed a value that is not a chunk: it has no "type" or is not JSON.');
    const { stream, redact } = this.#tape;
    if (redact === undefined) return copy;
    const redacted: unknown = redact({ stream, chunk: copy });
    const written = copyOf(redacted);
    if (isChunk(written)) return written;
    dropPromise(redacted);
    throw invalidOption("redact", "a function that synchronously returns a chunk", redacted);
  }

  #fail(error: unknown): unknown {
    // Closes the recording first, so that nothing more is written if the error cannot be recorded.
    this.#close();
    const written = this.#toWritten({ type: "error", error });
    if (written.type !== "error") throw invalidOption("redact", "a function that returns an error chunk when given one", written);
    this.#tell({ type: "threw", error: written.error });
    return this.#tape.redact === undefined ? error : toThrown(written.error);
  }

  #tell(happening: Happening): void {
    this.#lastMs = this.#elapsedMs();
    this.#tape.write({ ...happening, stream: this.#tape.stream, atMs: this.#lastMs });
  }

  #elapsedMs(): number {
    return Math.round(this.#call.clock.now() - this.#startedAt);
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    const { signal } = this.#call;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Records that the signal fired. Never throws, because an error in an event listener would end the process. */
  readonly #onAbort = (): void => {
    try {
      this.#tell({ type: "aborted" });
    } catch {
      this.#close();
    }
  };

  #close(): void {
    this.#isOver = true;
    this.#call.signal.removeEventListener("abort", this.#onAbort);
  }
}

function copyOf(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The options for `recordTo`. */
export interface RecordOptions {
  /**
   * Returns the chunk to record instead of the original chunk. Must be synchronous. The recorded run also receives the returned chunk, so
   * it sees the same chunks as a replay. If the function throws, the stream ends and the chunk is not recorded. Default: none.
   */
  readonly redact?: ((record: CassetteRecord) => ModelChunk) | undefined;
}

const optionChecks: Checks<RecordOptions> = { redact: is.fn };

/**
 * Creates a provider that passes on the streams of `provider` and records them to a cassette, for `replayFrom`. `file` is a path or
 * a `Cassette`; missing folders in a path are created. An existing recording is overwritten immediately. Use one cassette for
 * each provider. A cassette can record any number of runs.
 *
 * Each line is written before its chunk is passed on, so that a crash loses at most one line. The recording contains chunks, thrown errors
 * as provider errors, the moment when the signal fired, heartbeats after a silence, and whether the reader stopped early. Each event is
 * recorded with its time. A request is recorded only as digests of its messages, tools and settings, without any text, headers or client
 * data. The run receives the chunks as they are recorded: data that JSON cannot represent is also lost in the recorded run.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. Also throws if the file cannot be written.
 * Later write errors end the stream.
 *
 * @example
 * const provider = process.env.RECORD ? recordTo(file, openaiChat({ client, model: "gpt-5-mini" })) : replayFrom(file);
 */
export function recordTo(file: string | Cassette, provider: Provider, options: RecordOptions = {}): Provider {
  const cassette = toCassette(file);
  assertProvider("provider", provider);
  checkFields("options", options, optionChecks);
  const { redact } = options;
  let streams = 0;
  // Creates the cassette now, because a fallback provider may never get a request, and a replay needs its cassette.
  cassette.clear();
  cassette.append(toHead(provider));
  const write = (line: Line): void => cassette.append(toLine(line));
  return wrapProvider(provider, {
    stream(request, call) {
      const stream = streams;
      write({ type: "request", stream, request: printRequest(request) });
      streams += 1;
      const recorded = new RecordedStream(call, { stream, write, redact });
      recorded.open((ownCall) => provider.stream(request, ownCall));
      return recorded;
    },
  });
}
