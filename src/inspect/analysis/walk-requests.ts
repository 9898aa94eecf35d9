// Goes through the requests of a run, with the messages of each. Uses the differences in the log: to make each list
// again would take time that grows with the square of the number of iterations.

import type { Message } from "../../core/entry-kit.ts";
import type { LoggedIteration, LoggedRequest, LoggedRun } from "../log/run-log.ts";

/** A change of the messages from one request to the next. */
export interface RequestStep {
  readonly iteration: LoggedIteration;
  readonly request: LoggedRequest;
  /** The iteration with the previous request. Undefined for the first request. */
  readonly previous: LoggedIteration | undefined;
  /** The first position at which a message of the previous request was replaced or removed. Undefined if there is no such message. */
  readonly firstChange: number | undefined;
  /** The messages of the previous request from `firstChange` on. Empty if it is undefined. */
  readonly before: readonly Message[];
  /** All messages. The list is changed by the next step, so copy what you keep. */
  readonly messages: readonly Message[];
  /** The positions of messages that are new in this request, and the length of the previous list. */
  readonly touched: readonly number[];
}

export function* walkRequests(run: Pick<LoggedRun, "iterations">): Generator<RequestStep> {
  const messages: Message[] = [];
  let previous: LoggedIteration | undefined;
  for (const iteration of run.iterations) {
    const { request } = iteration;
    if (request === undefined) continue;
    const { keptCount, replaced, added } = request;
    const cut = keptCount < messages.length ? [keptCount] : [];
    const changes = [...replaced.map(([index]) => index), ...cut];
    const firstChange = changes.length === 0 ? undefined : changes.reduce((least, index) => Math.min(least, index));
    const before = firstChange === undefined ? [] : messages.slice(firstChange);
    const touched = [...replaced.map(([index]) => index), ...added.map((_message, at) => keptCount + at)];
    messages.length = Math.min(keptCount, messages.length);
    for (const [index, message] of replaced) messages[index] = message;
    for (const message of added) messages.push(message);
    yield { iteration, request, previous, firstChange, before, messages, touched };
    previous = iteration;
  }
}
