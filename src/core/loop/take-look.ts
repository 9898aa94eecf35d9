// Looks at what came from outside (messages, cancellations, limits), and decides whether the run goes on. Recorded, so that a replay
// decides the same.

import { type Cancellable, endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import type { Expected } from "./meter.ts";
import type { EndReason } from "../types/termination.ts";
import { decideLook, isExhausted, type Looking, type Seen } from "./next-step.ts";
import { placeOf, stepOf } from "./journals.ts";
import type { Run } from "./run.ts";
import type { Ending, Look, State } from "../types/middleware.ts";
import { applyLook } from "./state.ts";

export async function takeLook(run: Run, looking: Looking): Promise<undefined> {
  const { state } = run;
  const { phase } = state;
  if (phase !== "look") {
    const base = phase === "start" ? "begin" : `${placeOf(state)}/${lookStep(phase, state)}`;
    state.lookAttempt = { base, count: 1 };
  }
  run.planned = looking.planned;
  let taken = 0;
  const look = await run.step<Look>(lookKey(state), async () => {
    if (looking.planned === undefined && run.outer !== undefined)
      for (let busy = findBusy(run); busy !== undefined; busy = findBusy(run)) await untilSettled(run, busy);
    // Nothing may be awaited before the decision: a message that arrives in between would be lost, and another run would begin a
    // stream with the same budget.
    const seen = see(run);
    taken = (seen.messages?.length ?? 0) - run.returned.length;
    return toLook(run, seen, looking);
  });
  run.control?.takeMessages(taken);
  run.returned.length = 0;
  if (look.retries === true) run.past?.takeBack();
  applyLook(state, look);
  if (look.ending === undefined) sendSteered(run);
}

export function sendSteered(run: Run): void {
  for (const message of run.state.steered) run.send("steered", { message }, run.isReplayed);
}

/** Each continuation of a paused message has a look of its own: a later execution with a higher limit goes on after an ending. */
function lookStep(phase: "answer" | "calls" | "again", state: State): string {
  if (phase !== "answer") return phase === "calls" ? "next" : "again";
  return stepOf("answered", state.skipped === undefined ? continuationOf(state) : state.continuation);
}

/** Returns the number of the newest answer within its message. */
export function continuationOf({ answers, continuation }: State): number {
  const answer = answers.at(-1);
  return answer !== undefined && isUnfinished(answer) ? continuation - 1 : continuation;
}

export function lookKey({ lookAttempt: { base, count } }: Pick<State, "lookAttempt">): string {
  return count === 1 ? base : `${base}#${count}`;
}

function toLook(run: Run, seen: Seen, { planned, retries }: Looking): Look {
  const { now, token, messages = [] } = seen;
  const { state, limits, hooks, options } = run;
  const { version = state.codeVersion } = options;
  const ending = retries === true ? seen.ended : decideLook(state, seen, { planned, limits, hooks });
  const facts: Look = {
    now,
    token,
    ...(messages.length > 0 && { messages }),
    ...(version !== state.codeVersion && { codeVersion: version }),
  };
  if (ending === undefined) {
    run.meter.begin(expectedOf(run));
    return retries === true ? { ...facts, retries } : facts;
  }
  if (isFinal(ending) || hooks.every(({ beforeEnd }) => beforeEnd === undefined)) shut(run, ending);
  return { ...facts, ending, ...(isExhausted(state, seen, limits) && { isExhausted: true }) };
}

/** True if middleware is not asked before the ending. */
export function isFinal({ status }: Ending): boolean {
  return status === "suspended" || status === "stopped-by-user" || status === "follow-up-interrupt";
}

/** An open control would accept messages that nobody reads. A nested run that is suspended may go on. */
export function shut({ control, outer }: Run, { status }: Ending): void {
  if (status !== "suspended" || outer === undefined) control?.shut();
}

function expectedOf({ state: { answers, lastCostUSD } }: Run): Expected | undefined {
  const last = answers.at(-1);
  return last && { tokens: last.usage?.totalTokens ?? 0, costUSD: lastCostUSD };
}

type OnSettled = (resume: () => void) => () => void;

/**
 * Returns a function that waits for the end of a stream, if the streams of other nested runs may use up the limits of an outer run.
 * Otherwise all nested runs would begin a stream with the last of the same budget.
 */
function findBusy(run: Run): OnSettled | undefined {
  return run.scope.cause === undefined ? run.meter.findBusy(expectedOf(run)) : undefined;
}

/** A cancellation ends the wait. */
function untilSettled({ scope }: Run, onSettled: OnSettled): Promise<void> {
  return new Promise<void>((resolve) => {
    const slot: Cancellable = { cancel: () => end() };
    const leave = onSettled(() => end());
    const end = (): void => {
      scope.leave(slot);
      leave();
      resolve();
    };
    scope.join(slot);
  });
}

export function see({ clock, token, scope, control, meter, state, returned }: Run): Seen {
  const now = clock.now();
  scope.checkDeadline(now);
  const { cause } = scope;
  const spentOutside: EndReason | undefined = meter.findSpentOutside(state.lastCostUSD);
  return {
    now,
    token,
    messages: [...returned, ...(control?.messages ?? [])],
    ...control?.see(state, token),
    maxToolCalls: meter.maxToolCalls,
    // The message of an interrupt ends the run.
    ...(cause !== undefined && cause.kind !== "interrupt" && { ended: endingOfReason(cause) }),
    ...(spentOutside !== undefined && { spentOutside }),
  };
}
