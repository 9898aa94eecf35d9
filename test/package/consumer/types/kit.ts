// An adapter and middleware by a third party.

import { type Middleware, type ModelChunk, type Provider, providerError, type ToolOutcome } from "turnwright";
import { type ContextRestart, detectContextRestart, type EventReader, readSdkStream, recordOf, textOf } from "turnwright/kit";

export function echo(source: () => AsyncIterable<unknown>): Provider {
  return {
    id: "echo",
    model: "m",
    stream: (_request, call) => {
      const out: ModelChunk[] = [];
      const reader: EventReader = {
        failed: false,
        finished: false,
        read: (event) => void out.push({ type: "text-delta", text: textOf(recordOf(event)["text"]) }),
        end: () => void out.push({ type: "error", error: providerError("server", "never finished") }),
      };
      return readSdkStream({ open: async () => source(), reader, out }, call);
    },
  };
}

export function restartOf(outcome: ToolOutcome): ContextRestart | undefined {
  return detectContextRestart(outcome, undefined);
}

/** Denies the calls of a tool after `most` calls. */
export function withQuota(name: string, most: number): Middleware {
  return {
    name: "quota",
    begin: () => {
      let count = 0;
      return {
        call: (call, next) => {
          if (call.name !== name) return next(call);
          count += 1;
          if (count <= most) return next(call);
          return Promise.resolve({ call, durationMs: 0, kind: "denied", reason: `At most ${most} calls of ${name} per run.` });
        },
      };
    },
  };
}
