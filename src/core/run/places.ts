// The places of iterations and calls in the journal.

import type { ToolCall } from "../types/tool-outcome.ts";
import type { State } from "../types/middleware.ts";

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

/** The beginning of the keys of a wait. Each attempt opens the wait again, because what was shown has changed. */
export function waitKey(id: string, attempt = 1): string {
  return `wait/${id}/${attempt}`;
}

/** The key of the look after the calls. */
export function nextKeyOf(state: State): string {
  return `${placeOf(state)}/next`;
}

export interface PlacedCall {
  readonly call: ToolCall;
  readonly index: number;
}
