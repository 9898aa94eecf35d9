// Keeps the guard around a wrapper patient, while the wrapper waits for something that has limits of its own.

import type { ModelCall } from "../types/provider.ts";

/** Says now, and over and over until it is stopped, that the stream is alive. Gives what stops it. */
export function keepAlive(call: ModelCall): () => void {
  const { clock, timeouts } = call;
  call.heartbeat("waiting");
  const limitMs = Math.min(timeouts.firstChunkMs, timeouts.streamIdleMs);
  if (limitMs === Number.POSITIVE_INFINITY) return () => {};
  // Twice as often as needed, so that it does not matter whose timer fires first.
  const everyMs = Math.max(1, Math.floor(limitMs / 2));
  const beat = (): void => {
    call.heartbeat("waiting");
    timer = clock.setTimeout(beat, everyMs);
  };
  let timer = clock.setTimeout(beat, everyMs);
  return () => clock.clearTimeout(timer);
}
