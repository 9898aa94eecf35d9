// The places of iterations and calls in the journal.

import type { ToolOutcome } from "../types/tool-outcome.ts";
import type { CurrentMessage, State } from "../types/middleware.ts";

/** The beginning of the keys of the steps of an iteration. */
export function placeOf({ iteration, retry }: Pick<State, "iteration" | "retry">): string {
  return retry === 0 ? `i${iteration}` : `i${iteration}~${retry + 1}`;
}

/** Returns a step of a message, for example "request", or "request~2" for the first continuation of a paused message. */
export function stepOf(step: "request" | "answered", continuation: number): string {
  return continuation === 0 ? step : `${step}~${continuation + 1}`;
}

/** The key of a call, whose name may contain a slash. */
export function callPlace(state: State, index: number, name: string): string {
  return `${placeOf(state)}/call/${index}/${name.replaceAll("%", "%25").replaceAll("/", "%2F")}`;
}

/** The key of the look after the calls. */
export function nextKeyOf(state: State): string {
  return `${placeOf(state)}/next`;
}

/** The outcome of a call that ran while its message streamed, with the steps of the call. */
export type EagerOutcome = ToolOutcome & { readonly steps?: { readonly [key: string]: unknown } };

/** The recorded steps of a call that ran while its message streamed. */
export function eagerSteps({ early }: CurrentMessage, callId: string): { readonly [key: string]: unknown } | undefined {
  const outcomes: readonly EagerOutcome[] = early;
  return outcomes.find(({ call }) => call.callId === callId)?.steps;
}
