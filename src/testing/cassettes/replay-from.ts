import { assertNever } from "../../shared/guards.ts";
import { checkFields, type Checks, is } from "../../core/kit.ts";
import type { ModelCall, ModelChunk, ModelRequest, Provider, ProviderError } from "../../core/index.ts";
import { reportRequest, sleep, untilFired } from "../scripted-stream.ts";
import { type Cassette, type CutLine, type Moment, nameOf, readCassette, type Recording, toCassette } from "./cassette.ts";
import { compare, keyOf, printRequest, type RequestPrint } from "./request-print.ts";

export function toThrown(error: ProviderError): Error {
  return Object.assign(new Error(error.message), error);
}

type Silent = Exclude<Moment, { type: "chunk" | "aborted" | "ended" }>;

async function* playRecording(
  { moments }: Recording,
  call: ModelCall,
  { timing = false, onSilence }: PlayOptions,
): AsyncGenerator<ModelChunk, void, undefined> {
  const { signal, clock } = call;
  let startedAt = clock.now();
  let wasCut = false;
  for (const moment of moments) {
    if (moment.type === "aborted") {
      onSilence?.();
      await untilFired(signal).catch(() => {});
      wasCut = true;
      startedAt = clock.now() - moment.atMs;
      continue;
    }
    // If more was recorded after this point, the provider kept sending after the abort, so the replay does the same.
    if (!wasCut) signal.throwIfAborted();
    if (timing) await waitAsRecorded(call, startedAt + moment.atMs - clock.now(), wasCut);
    if (moment.type === "ended") return;
    if (moment.type === "chunk") yield moment.chunk;
    else await undergo(moment, call, wasCut);
  }
  throw new Error(
    "The recording of this stream is incomplete: the process crashed or an event could not be written. Record it again.",
  );
}

function undergo(moment: Silent, call: ModelCall, wasCut: boolean): Promise<void> | void {
  switch (moment.type) {
    case "heartbeat":
      return call.heartbeat();
    case "threw":
      throw toThrown(moment.error);
    case "left":
      if (!moment.waiting)
        throw new Error("The recording of this stream ends here because its reader stopped reading. Record it again.");
      return wasCut ? new Promise<void>(() => {}) : untilFired(call.signal);
    default:
      return assertNever(moment);
  }
}

function waitAsRecorded(call: ModelCall, ms: number, wasCut: boolean): Promise<void> | void {
  if (ms <= 0) return;
  if (wasCut) return new Promise((resolve) => void call.clock.setTimeout(resolve, ms));
  return sleep(call, ms);
}

/** The options for `replayFrom`. */
export interface ReplayOptions {
  /**
   * How a request is matched to a recording. "request": a request is answered with the recording of an equal request; several recordings of
   * equal requests are replayed in order. "order": the first request is answered with the first recording, and so on. Default "request".
   */
  readonly match?: "request" | "order" | undefined;
  /**
   * Set to true to wait between chunks for as long as in the recording, on the call's clock. By default chunks are sent without waiting.
   */
  readonly timing?: boolean | undefined;
  /** Called if a crash left an incomplete last line. That line is not replayed, and the file is not changed. Default: none. */
  readonly onTornLine?: ((torn: CutLine) => void) | undefined;
}

interface PlayOptions extends ReplayOptions {
  /** Called before the replay starts waiting for its call's signal to fire. Default: none. */
  readonly onSilence?: (() => void) | undefined;
}

const optionChecks: Checks<ReplayOptions> = { match: ["request", "order"], timing: is.flag, onTornLine: is.fn };

/**
 * Creates a provider that replays a cassette, with the recorded id, model, family and `compacts`. `file` is a path or a `Cassette`, which
 * is read once, immediately. No network is used, and each recording is replayed once.
 *
 * Two requests are equal if their system text, settings, `toolChoice`, `continuationToken`, tools and messages are equal. Provider metadata
 * and the order of tools are ignored. A request without a recording throws an Error that describes the differences from the nearest
 * recorded request. A request made after all recordings were replayed also throws an Error. Both end the run as `provider-error` (`server`)
 * with the Error's message.
 *
 * Recorded errors are thrown again as provider errors. If the signal fired during the recording, or the reader stopped while it waited for
 * a chunk, the replay waits at that point until its own call's signal fires.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. Also throws if the file cannot be read. If
 * the file is damaged, throws an Error with the line number.
 *
 * @example
 * const result = await runToolLoop({ provider: replayFrom("test/cassettes/weather.jsonl"), tools, messages });
 */
export function replayFrom(file: string | Cassette, options: ReplayOptions = {}): Provider {
  checkFields("options", options, optionChecks);
  return playCassette(file, options);
}

export function playCassette(file: string | Cassette, options: PlayOptions): Provider {
  const cassette = toCassette(file);
  const { match = "request", onTornLine } = options;
  const { provider, recordings, torn } = readCassette(cassette.read(), nameOf(file));
  if (torn !== undefined) onTornLine?.(torn);
  const shelf = new Shelf(recordings, nameOf(file));
  return {
    ...provider,
    stream: (request, call) => {
      const recording = match === "order" ? shelf.takeNext() : shelf.take(request);
      reportRequest(request, call, provider);
      return playRecording(recording, call, options);
    },
  };
}

class Shelf {
  readonly #name: string;
  readonly #size: number;
  readonly #unplayed: Map<number, Recording>;
  readonly #counts = new Map<string, number>();
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
      return new Error(`The cassette${this.#name} contains this request ${times}, but it was sent again. Record the run again.`);
    }
    const [nearest] = [...this.#unplayed]
      .map(([index, { request }]) => ({ index, ...compare(asked, request) }))
      .sort((one, other) => one.size - other.size);
    if (nearest === undefined) return this.#runOut();
    const { index, words } = nearest;
    return new Error(
      `The cassette${this.#name} does not contain this request. Compared with the nearest recorded request ${index} (counted from 0), ${words.join("; ")}. Record the run again, or replay in order with match: "order".`,
    );
  }

  #runOut(): Error {
    const count = this.#size === 1 ? "1 request" : `${this.#size} requests`;
    return new Error(`The cassette${this.#name} contains ${count}, but more requests were sent. Record the run again.`);
  }
}
