// A provider without a model: plays a recording of `recordTo`.

import {
  assertNever,
  checkFields,
  type Checks,
  is,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  oneOf,
  type Provider,
  type ProviderError,
} from "../../core/entry-kit.ts";
import { untilAborted } from "../until-aborted.ts";
import { type Cassette, type CutLine, type Moment, nameOf, readCassette, type Recording, toCassette } from "./cassette.ts";
import { compare, keyOf, printRequest, type RequestPrint } from "./request-print.ts";

/** Makes an Error from a provider error. */
export function toThrown(error: ProviderError): Error {
  return Object.assign(new Error(error.message), error);
}

/** An event of a stream that is not a chunk. */
type Silent = Exclude<Moment, { type: "chunk" | "aborted" | "ended" }>;

/** Streams a recording; with `timing`, at the recorded speed. */
async function* playRecording(
  { moments }: Recording,
  call: ModelCall,
  timing: boolean,
): AsyncGenerator<ModelChunk, void, undefined> {
  const { signal, clock } = call;
  let startedAt = clock.now();
  let wasCut = false;
  for (const moment of moments) {
    if (moment.type === "aborted") {
      await untilFired(signal);
      wasCut = true;
      startedAt = clock.now() - moment.atMs;
      continue;
    }
    // Chunks that the stream sent after the signal had fired are recorded after that event.
    if (!wasCut) signal.throwIfAborted();
    if (timing) await sleep(call, startedAt + moment.atMs - clock.now(), wasCut);
    if (moment.type === "ended") return;
    if (moment.type === "chunk") yield moment.chunk;
    else await undergo(moment, call, wasCut);
  }
  throw new Error("The recording of this stream ends here: it was cut off, by a crash or by what could not be written.");
}

function undergo(moment: Silent, call: ModelCall, wasCut: boolean): Promise<void> | void {
  switch (moment.type) {
    case "heartbeat":
      return call.heartbeat();
    case "threw":
      throw toThrown(moment.error);
    case "left":
      if (!moment.waiting) throw new Error("The recording of this stream ends here: its reader left it.");
      return wasCut ? new Promise<void>(() => {}) : untilAborted(call.signal, () => () => {});
    default:
      return assertNever(moment);
  }
}

function sleep({ clock, signal }: ModelCall, ms: number, wasCut: boolean): Promise<void> | void {
  if (ms <= 0) return;
  if (wasCut) return new Promise((resolve) => void clock.setTimeout(resolve, ms));
  return untilAborted(signal, (done) => {
    const timer = clock.setTimeout(done, ms);
    return () => clock.clearTimeout(timer);
  });
}

function untilFired(signal: AbortSignal): Promise<void> {
  return untilAborted(signal, () => () => {}).catch(() => {});
}

/** The options of `replayFrom`. */
export interface ReplayOptions {
  /**
   * "request": a request gets the recording of an equal one. Several recordings of equal requests play in their order. "order":
   * the first request gets the first recording, and so on. Default "request".
   */
  readonly match?: "request" | "order" | undefined;
  /** True if the times between chunks are waited for, on the clock of the call. Default false: chunks come at once. */
  readonly timing?: boolean | undefined;
  /** Called with a last line that a crash has cut off. It is not played, and the file is not changed. */
  readonly onTornLine?: ((torn: CutLine) => void) | undefined;
}

const optionChecks: Checks<ReplayOptions> = { match: oneOf("request", "order"), timing: is.flag, onTornLine: is.fn };

/**
 * Makes a provider from a cassette, with the recorded id, model and family. The cassette is read once, now; `file` is a path or a
 * `Cassette`. No network is used, and each recording is played once.
 *
 * Two requests are equal if their system, settings, `toolChoice`, `continuationToken`, tools and messages are. Provider metadata
 * and the order of tools do not count. A request without a recording throws an Error that describes the difference from the
 * nearest one, and so does each request beyond the recorded ones. The run then ends as `provider-error` (`server`) with that
 * message.
 *
 * Recorded errors are thrown again, as provider errors. If the signal had fired, the stream waits until it fires again. If its
 * reader had left during a silence, it is silent until it is left.
 *
 * Throws LoopError "invalid-option" or "unknown-option", errors of the disk, and an Error with the line if the file is damaged.
 *
 * @example
 * const result = await runToolLoop({ provider: replayFrom("test/cassettes/weather.jsonl"), tools, messages });
 */
export function replayFrom(file: string | Cassette, options: ReplayOptions = {}): Provider {
  const cassette = toCassette(file);
  checkFields("options", options, optionChecks);
  const { match = "request", timing = false, onTornLine } = options;
  const { provider, recordings, torn } = readCassette(cassette.read(), nameOf(file));
  if (torn !== undefined) onTornLine?.(torn);
  const shelf = new Shelf(recordings, nameOf(file));
  return {
    ...provider,
    stream: (request, call) => playRecording(match === "order" ? shelf.takeNext() : shelf.take(request), call, timing),
  };
}

/** The recordings that were not played yet. */
class Shelf {
  readonly #name: string;
  readonly #size: number;
  readonly #unplayed: Map<number, Recording>;
  /** The number of recordings by key. */
  readonly #counts = new Map<string, number>();
  /** Numbers of the remaining recordings by key. */
  readonly #byKey = new Map<string, number[]>();

  constructor(recordings: readonly Recording[], name: string) {
    this.#name = name;
    this.#size = recordings.length;
    this.#unplayed = new Map(recordings.entries());
    recordings.forEach(({ request }, index) => {
      const key = keyOf(request);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
      const same = this.#byKey.get(key);
      if (same === undefined) this.#byKey.set(key, [index]);
      else same.push(index);
    });
  }

  takeNext(): Recording {
    for (const [index, recording] of this.#unplayed) {
      this.#unplayed.delete(index);
      return recording;
    }
    throw this.#runOut();
  }

  take(request: ModelRequest): Recording {
    const print = printRequest(request);
    const key = keyOf(print);
    const index = this.#byKey.get(key)?.shift();
    const recording = index === undefined ? undefined : this.#unplayed.get(index);
    if (index === undefined || recording === undefined) throw this.#explain(print, this.#counts.get(key));
    this.#unplayed.delete(index);
    return recording;
  }

  #explain(asked: RequestPrint, recordedTimes: number | undefined): Error {
    if (recordedTimes !== undefined) {
      const times = recordedTimes === 1 ? "once" : `${recordedTimes} times`;
      return new Error(`${this.#name} has this request ${times}, and was asked once more.`);
    }
    const [nearest] = [...this.#unplayed]
      .map(([index, { request }]) => ({ index, ...compare(asked, request) }))
      .sort((one, other) => one.size - other.size);
    if (nearest === undefined) return this.#runOut();
    const { index, words } = nearest;
    return new Error(
      `${this.#name} has no such request. The nearest is request ${index} (counted from 0), but here ${words.join("; ")}. Record it again, or play in order with match: "order".`,
    );
  }

  #runOut(): Error {
    const count = this.#size === 1 ? "1 request" : `${this.#size} requests`;
    return new Error(`${this.#name} has ${count}, all of them played, and was asked for one more.`);
  }
}
