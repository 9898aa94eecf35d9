// Plays runs over the real SDK clients, and records the bodies that providers report and the bodies that the SDKs send.

import { runToolLoop, type LoopOptions, type LoopResult, type Provider } from "turnwright";
import { watchPromptCache } from "turnwright/middleware";
import { type EventRecording, recordEvents } from "turnwright/testing";
import { onTestFinished } from "vitest";
import type { Scripted, Wire } from "../wire/all-wires.ts";
import { startRawServer } from "../wire/raw-sse-server.ts";
import type { Connecting } from "../wire/wire.ts";

export interface PlayedWire {
  readonly result: LoopResult;
  readonly recording: EventRecording;
  /** The bodies that the SDK passed to `fetch`. */
  readonly bodies: readonly unknown[];
  /** The bodies as the provider reported them, as JSON. */
  readonly reported: readonly unknown[];
}

export interface WirePlay {
  readonly wire: Wire;
  readonly script: readonly Scripted[];
  readonly connecting?: Connecting;
  /** Changes the provider of the run. Default: unchanged. */
  readonly wrap?: (provider: Provider) => Provider;
}

export async function playWire({ wire, script, connecting, wrap }: WirePlay, options: Partial<LoopOptions>): Promise<PlayedWire> {
  const server = await startRawServer(script.map((scripted) => wire.toReply(scripted)));
  onTestFinished(() => server.close());
  const { provider, bodies } = wire.connect(server.url, connecting);
  const reported: unknown[] = [];
  const spy = reportTo(reported, provider);
  const recording = recordEvents(undefined, ["cache-break", "masked"]);
  const { middleware: given = [] } = options;
  const isWatched = given.some((one) => one && one.name === "prompt-cache");
  const result = await runToolLoop({
    provider: wrap === undefined ? spy : wrap(spy),
    messages: [{ role: "user", content: "Oslo or Rome?" }],
    events: recording.emitter,
    ...options,
    middleware: [...given, !isWatched && watchPromptCache()],
  });
  return { result, recording, bodies, reported };
}

/** Copies each reported body to `reported`, and passes it on. */
export function reportTo(reported: unknown[], provider: Provider): Provider {
  return {
    ...provider,
    stream: (request, call) => {
      const { signal, iteration, clock, timeouts, mayAsk, sending } = call;
      return provider.stream(request, {
        signal,
        iteration,
        clock,
        timeouts,
        mayAsk,
        heartbeat: (state) => call.heartbeat(state),
        sending: (body, sender) => {
          reported.push(JSON.parse(JSON.stringify(body)));
          sending?.(body, sender);
        },
      });
    },
  };
}
