// A provider without a model: plays what `recordTo` has recorded.

import { checkFields, type Checks, is, type ModelRequest, oneOf, type Provider } from "../../core/entry-kit.ts";
import { type Cassette, nameOf, toCassette } from "./cassette.ts";
import { type CutLine, readCassette, type Recording } from "./cassette-lines.ts";
import { playRecording } from "./play-recording.ts";
import { compare, keyOf, printRequest, type RequestPrint } from "./request-print.ts";

/** How a cassette is played. */
export interface ReplayOptions {
  /**
   * "request": a request gets the recording of the same one, and those that were recorded several times play in that order. "order": the
   * first request gets the first recording, whatever it asks. Default "request".
   */
  readonly match?: "request" | "order" | undefined;
  /** Whether the times between chunks are waited for, on the clock of the call. Default false: chunks come at once. */
  readonly timing?: boolean | undefined;
  /** Told of a last line that was cut off by a crash. It is not played; the file stays as it is. */
  readonly onTornLine?: ((torn: CutLine) => void) | undefined;
}

const optionChecks: Checks<ReplayOptions> = { match: oneOf("request", "order"), timing: is.flag, onTornLine: is.fn };

/**
 * Makes a provider of a cassette, with the id, the model and the family that were recorded. It is read once, now; `file` is a path or a
 * `Cassette`. Nothing is asked of a network, and each recording is played once.
 *
 * Two requests are the same where their system, settings, `toolChoice`, `continuationToken`, tools and messages are; provider metadata are not
 * compared, and neither is the order of tools. A request without a recording throws an Error that says in what it differs from the
 * nearest one, and so does one more than were recorded: the run ends as `provider-error` (`server`) with its message.
 *
 * Errors that were thrown are thrown again, as the provider errors that they were. Where the signal had fired, the stream waits for it to
 * fire again; where its reader had left while it was silent, it is silent until it is left.
 *
 * Throws LoopError "invalid-option" or "unknown-option", what the disk says, and an Error with the line where the file is damaged.
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
  /** How many there were of each, by key. */
  readonly #counts = new Map<string, number>();
  /** Numbers of the unplayed ones, by key. */
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
