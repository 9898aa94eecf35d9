// Helpers for providers that play a script or a recording, without a model service.

import type { ModelCall, ModelRequest, Provider } from "../core/index.ts";

/** Reports the parts of a request as its body, because these providers have no request format of their own. */
export function reportRequest(request: ModelRequest, call: ModelCall, { id, model }: Pick<Provider, "id" | "model">): void {
  const { tools, system, messages } = request;
  call.sending?.({ tools, system, messages }, { id, model });
}

/** Waits until the signal fires, and then rejects with the signal's reason. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return raceSignal(signal, () => () => {});
}

/** Waits `ms` milliseconds on the clock of the call. If the signal fires first, rejects with the signal's reason. */
export function sleep({ clock, signal }: Pick<ModelCall, "clock" | "signal">, ms: number): Promise<void> {
  return raceSignal(signal, (done) => {
    const timer = clock.setTimeout(done, ms);
    return () => clock.clearTimeout(timer);
  });
}

function raceSignal(signal: AbortSignal, start: (done: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cancel = start(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    function onAbort(): void {
      cancel();
      reject(signal.reason);
    }
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
