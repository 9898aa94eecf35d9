// An adapter by a third party.

import type { ModelChunk, Provider } from "turnwright";
import { type EventReader, providerError, readSdkStream, recordOf, textOf } from "turnwright/provider-kit";

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
