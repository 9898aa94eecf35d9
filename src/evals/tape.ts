// Records the model's answers in one trial. One cassette contains all requests of the trial's runs and agents.

import type { ModelCall, ModelRequest, Provider } from "../core/index.ts";
import { isRecord, wrapProvider } from "../core/kit.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { recordTo } from "../testing/cassettes/record-to.ts";
import { playCassette } from "../testing/cassettes/replay-from.ts";

/** Wraps a provider so that its streams are recorded or replaced with a recording. */
export type Tape = (provider: Provider) => Provider;

type Stream = Provider["stream"];

/** Records the streams of all providers. Each request contains its provider, because a cassette can name only one. */
export function recordTape(file: string): Tape {
  const asked = new WeakMap<ModelRequest, Stream>();
  const recorder = recordTo(file, {
    id: "trial",
    model: "trial",
    stream: (request, call) => (asked.get(request) as Stream)(request, call),
  });
  return (provider) =>
    wrapAny(provider, (request, call) => {
      asked.set(request, (own, ownCall) => provider.stream(own, ownCall));
      return recorder.stream(request, call);
    });
}

export interface TapePorts {
  /** Read before each request. Starting with the first request for which it is true, all requests go to the run's own provider. */
  readonly isLive: boolean;
  /** Called if the recording does not contain a request. `difference` says how the request differs. */
  onMissing(difference: string): void;
  /** Called if the recorded model was silent until its signal fired. */
  onSilence(): void;
}

/** Plays back a recording in place of the model. With `match` set to "order", requests may differ from the recorded ones. */
export function playTape(file: string, match: "request" | "order", ports: TapePorts): Tape {
  const player = playCassette(file, { match, onSilence: () => ports.onSilence() });
  const play: Stream = (request, call) => {
    try {
      return player.stream(request, call);
    } catch (error) {
      // Removes the advice at the end of the message, because it does not apply to a trial's recording.
      ports.onMissing(toPlainError(error).message.replace(/ Record the run again.*/, ""));
      throw error;
    }
  };
  return (provider) =>
    wrapAny(provider, (request, call) => (ports.isLive ? provider.stream(request, call) : play(request, call)));
}

/** Wraps a provider. Returns any other value unchanged, because the run itself reports what is wrong with it. */
export function wrapAny(provider: Provider, stream: (request: ModelRequest, call: ModelCall) => ReturnType<Stream>): Provider {
  return isRecord(provider) && typeof provider.stream === "function" ? wrapProvider(provider, { stream }) : provider;
}
