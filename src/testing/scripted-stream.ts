// Helpers for providers that play a script or a recording without a model service.

import { untilAborted } from "../shared/signals.ts";
import type { ModelCall, ModelRequest, Provider } from "../core/index.ts";

/** Reports the request's parts as its body, because scripted providers have no request format of their own. */
export function reportRequest(request: ModelRequest, call: ModelCall, { id, model }: Pick<Provider, "id" | "model">): void {
  const { tools, system, messages } = request;
  call.sending?.({ tools, system, messages }, { id, model });
}

/** Waits until the signal fires, and then rejects with the signal's reason. */
export function untilFired(signal: AbortSignal): Promise<never> {
  return untilAborted(new Promise<never>(() => {}), signal);
}

/** Waits `ms` milliseconds on the call's clock. If the signal fires first, rejects with the signal's reason. */
export function sleep({ clock, signal }: Pick<ModelCall, "clock" | "signal">, ms: number): Promise<void> {
  let timer: unknown;
  const slept = new Promise<void>((resolve) => (timer = clock.setTimeout(resolve, ms)));
  return untilAborted(slept, signal).finally(() => clock.clearTimeout(timer));
}
