// A provider that writes down what another one streams, chunk by chunk.

import { assertProvider, checkFields, type Checks, is, type ModelChunk, type Provider } from "../../core/entry-kit.ts";
import { type Cassette, toCassette } from "./cassette.ts";
import { type CassetteRecord, type Line, toHead, toLine } from "./cassette-lines.ts";
import { RecordedStream } from "./recorded-stream.ts";
import { printRequest } from "./request-print.ts";

/** How a provider is recorded. */
export interface RecordOptions {
  /**
   * Gives the chunk that is written in place of the stream's own, at once. The run that is recorded reads it too: what is recorded is what
   * it saw, so that a replay sees the same. What it throws ends the stream, and nothing of the chunk is written.
   */
  readonly redact?: ((record: CassetteRecord) => ModelChunk) | undefined;
}

const optionChecks: Checks<RecordOptions> = { redact: is.fn };

/**
 * Makes a provider that hands on what `provider` streams and writes it to a cassette, for `replayFrom`. `file` is a path, whose folders
 * are made, or a `Cassette`. It is begun anew at once; one cassette is for one provider, for any number of runs.
 *
 * Each line is written before its chunk is handed on, so that a crash costs one line. Recorded are chunks, errors that were thrown, as
 * provider errors, where the signal fired, heartbeats after a silence, and that a reader left; with the time of each. Of a request
 * digests are kept, of its messages, tools and settings, and nothing of its words, of headers or of a client. The run reads chunks as they
 * are in the file: what JSON cannot say is lost at once and not in the replay only.
 *
 * Throws LoopError "invalid-option" or "unknown-option" where an argument is wrong, and what the disk says. What cannot be
 * written later ends the stream.
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
  // At once: a provider that is never asked, such as the last one of a fallback, has a cassette too.
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
