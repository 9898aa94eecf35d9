// A provider that records the stream of another one, chunk by chunk.

import {
  assertProvider,
  checkFields,
  type Checks,
  invalidOption,
  is,
  isThenable,
  iterateChunks,
  type ModelCall,
  type ModelChunk,
  type Provider,
  toProviderError,
} from "../../core/entry-kit.ts";
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

/** The destination of a recorded stream. */
interface StreamTape {
  readonly stream: number;
  readonly redact?: ((record: CassetteRecord) => ModelChunk) | undefined;
  write(line: Line): void;
}

/** The stream for the reader while it is recorded. */
class RecordedStream implements AsyncIterableIterator<ModelChunk, undefined> {
  readonly #call: ModelCall;
  readonly #tape: StreamTape;
  readonly #startedAt: number;
  #iterator: AsyncIterator<ModelChunk> | undefined;
  #lastMs = 0;
  /** The number of chunks that are awaited. */
  #awaited = 0;
  #isListening = false;
  #isOver = false;

  constructor(call: ModelCall, tape: StreamTape) {
    this.#call = call;
    this.#tape = tape;
    this.#startedAt = call.clock.now();
  }

  /** Opens the stream of the provider. Its errors are recorded and thrown. */
  open(ask: (call: ModelCall) => AsyncIterable<ModelChunk>): void {
    const { signal, iteration, clock, timeouts } = this.#call;
    const heartbeat: ModelCall["heartbeat"] = (state) => {
      if (!this.#isOver && this.#elapsedMs() > this.#lastMs) this.#tell({ type: "heartbeat" });
      this.#call.heartbeat(state);
    };
    try {
      this.#iterator = iterateChunks(ask({ signal, iteration, clock, timeouts, heartbeat }));
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
      // A chunk that cannot be recorded ends the stream, and the recording has no end.
      this.#close();
      this.#iterator?.return?.().then(undefined, () => {});
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

  /** Writes a chunk, and returns it in its recorded form. */
  #keep(chunk: ModelChunk): ModelChunk {
    const written = this.#toWritten(chunk);
    this.#tell({ type: "chunk", chunk: written });
    return written;
  }

  #toWritten(chunk: unknown): ModelChunk {
    const copy = copyOf(isChunk(chunk) && chunk.type === "error" ? { ...chunk, error: toProviderError(chunk.error) } : chunk);
    if (!isChunk(copy)) throw new TypeError("What the provider streamed is no chunk: it has no type, or is no JSON.");
    const { stream, redact } = this.#tape;
    if (redact === undefined) return copy;
    const redacted: unknown = redact({ stream, chunk: copy });
    const written = copyOf(redacted);
    if (isChunk(written)) return written;
    if (isThenable(redacted)) Promise.resolve(redacted).catch(() => {});
    throw invalidOption("redact", "a function that gives a chunk, at once", redacted);
  }

  /** Writes the failure of the stream, and returns the error to throw. */
  #fail(error: unknown): unknown {
    // First, so that nothing is written after an error that could not be recorded.
    this.#close();
    const written = this.#toWritten({ type: "error", error });
    if (written.type !== "error") throw invalidOption("redact", "a function that gives an error for an error", written);
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

  /** Errors are ignored here, because a listener that throws would end the process. */
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

/** Returns the value as it will be read from the file. */
function copyOf(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The options of `recordTo`. */
export interface RecordOptions {
  /**
   * Returns the chunk to write instead of the stream's own. Must be synchronous. The recorded run reads it too, so that a replay
   * sees the same. If it throws, the stream ends and the chunk is not written.
   */
  readonly redact?: ((record: CassetteRecord) => ModelChunk) | undefined;
}

const optionChecks: Checks<RecordOptions> = { redact: is.fn };

/**
 * Makes a provider that passes on the stream of `provider` and writes it to a cassette, for `replayFrom`. `file` is a path, whose
 * folders are created, or a `Cassette`. An existing recording is overwritten at once. One cassette is for one provider, and for
 * any number of runs.
 *
 * Each line is written before its chunk is passed on, so that a crash costs one line. The recording contains the chunks, thrown
 * errors as provider errors, the time when the signal fired, heartbeats after a silence, and if the reader left. Each event has
 * its time. Of a request, only digests of its messages, tools and settings are recorded, no texts, headers or client data. The
 * run reads the chunks as they are in the file: data that JSON cannot represent is lost in the recorded run, too.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid, and errors of the disk. Later write errors end
 * the stream.
 *
 * @example
 * const provider = process.env.RECORD ? recordTo(file, openaiChat({ client, model: "gpt-5-mini" })) : replayFrom(file);
 */
export function recordTo(file: string | Cassette, provider: Provider, options: RecordOptions = {}): Provider {
  const cassette = toCassette(file);
  assertProvider("provider", provider);
  checkFields("options", options, optionChecks);
  const { id, model, family } = provider;
  const { redact } = options;
  let streams = 0;
  // Now, so that a provider that gets no request, such as the last one of a fallback, also has a cassette.
  cassette.clear();
  cassette.append(toHead({ id, model, family }));
  const write = (line: Line): void => cassette.append(toLine(line));
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream(request, call) {
      const stream = streams;
      write({ type: "request", stream, request: printRequest(request) });
      streams += 1;
      const recorded = new RecordedStream(call, { stream, write, redact });
      recorded.open((ownCall) => provider.stream(request, ownCall));
      return recorded;
    },
  };
}
