import type { LoggedCall, LoggedIteration, LoggedWait } from "./run-log.ts";

/** The times of a call that `LoggedCall` does not have. */
export interface CallTimes {
  askedAt?: number | undefined;
  decidedAt?: number | undefined;
  deferredAt?: number | undefined;
  resumedAt?: number | undefined;
}

/** Returns the waits of an iteration, in the order in which they began. A policy that decides immediately causes no wait. */
export function findWaits(iteration: LoggedIteration, timesOf: (call: LoggedCall) => CallTimes): readonly LoggedWait[] {
  const waits = iteration.attempts.flatMap(({ discardedAt }, index): LoggedWait[] => {
    if (discardedAt === undefined) return [];
    return [{ kind: "retry", from: discardedAt, to: iteration.attempts[index + 1]?.startedAt }];
  });
  const ofCalls = iteration.calls.flatMap((call) => waitsOf(call, { times: timesOf(call), outputAt: iteration.output?.at }));
  return [...waits, ...ofCalls].filter(({ from, to }) => from !== to).sort((one, other) => one.from - other.from);
}

interface Around {
  readonly times: CallTimes;
  readonly outputAt: number | undefined;
}

function waitsOf({ callId, readyAt, startedAt }: LoggedCall, { times, outputAt }: Around): readonly LoggedWait[] {
  const { askedAt, decidedAt, deferredAt, resumedAt } = times;
  const waits: LoggedWait[] = [];
  if (askedAt !== undefined) waits.push({ kind: "approval", from: askedAt, to: decidedAt, callId });
  if (deferredAt !== undefined) waits.push({ kind: "outside-result", from: deferredAt, to: resumedAt, callId });
  const from = Math.max(readyAt ?? 0, outputAt ?? 0, decidedAt ?? 0);
  const isQueued = deferredAt === undefined && from > 0 && startedAt !== undefined && startedAt > from;
  if (isQueued) waits.push({ kind: "queue", from, to: startedAt, callId });
  return waits;
}
