// Takes a "look": reads messages, cancellations and limits, and decides whether the run continues. The look is recorded, so a replay makes
// the same decision.

import { endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import { decideLook, isExhausted, type Looking, type Seen } from "./next-step.ts";
import { placeOf, stepOf } from "./journals.ts";
import type { Run } from "./run.ts";
import type { Ending, Look, State } from "../types/middleware.ts";
import { applyLook } from "./state.ts";

export async function takeLook(run: Run, looking: Looking): Promise<undefined> {
  const { state, nesting } = run;
  const { phase } = state;
  if (phase !== "look") {
    const base = phase === "start" ? "begin" : `${placeOf(state)}/${lookStep(phase, state)}`;
    state.lookAttempt = { base, count: 1 };
  }
  run.planned = looking.planned;
  let taken = 0;
  const decide = (): Look | Promise<Look> => {
    const room = looking.planned === undefined ? nesting?.findRoom(run) : undefined;
    if (room !== undefined) return room.then(decide);
    // Do not await before `toLook`, because a message that arrived in the meantime would be lost, and another run could spend the same
    // budget.
    const seen = see(run);
    taken = (seen.messages?.length ?? 0) - run.returned.length;
    return toLook(run, seen, looking);
  };
  const look = await run.step<Look>(lookKey(state), decide);
  run.control?.takeMessages(taken);
  run.returned.length = 0;
  if (look.retries === true) run.past?.takeBack();
  applyLook(state, look);
  if (look.ending === undefined) sendSteered(run);
}

export function sendSteered(run: Run): void {
  for (const message of run.state.steered) run.send("steered", { message }, run.isReplayed);
}

/**
 * Returns the step name of a look. Each continuation of a paused message has its own look, so that a later execution with a higher
 * limit can continue after an ending.
 */
function lookStep(phase: "answer" | "calls" | "again", state: State): string {
  if (phase !== "answer") return phase === "calls" ? "next" : "again";
  return stepOf("answered", state.skipped === undefined ? continuationOf(state) : state.continuation);
}

/** Returns the index of the newest answer among the answers that form its message. 0 if it continues no earlier answer. */
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
    run.nesting?.beginRequest(run);
    return retries === true ? { ...facts, retries } : facts;
  }
  if (isFinal(ending) || hooks.every(({ beforeEnd }) => beforeEnd === undefined)) shut(run, ending);
  return { ...facts, ending, ...(isExhausted(state, seen, limits) && { isExhausted: true }) };
}

/** True for endings that middleware is not asked about. */
export function isFinal({ status }: Ending): boolean {
  return status === "suspended" || status === "stopped-by-user" || status === "follow-up-interrupt";
}

/**
 * Closes the control, which would otherwise accept messages that nobody reads. A suspended nested run's control stays open, because the
 * run may continue.
 */
export function shut({ control, outer }: Run, { status }: Ending): void {
  if (status !== "suspended" || outer === undefined) control?.shut();
}

export function see(run: Run): Seen {
  const { clock, token, scope, control, meter, state, returned } = run;
  const now = clock.now();
  scope.checkDeadline(now);
  const { cause } = scope;
  const spentOutside = run.nesting?.findSpent(run);
  return {
    now,
    token,
    messages: [...returned, ...(control?.messages ?? [])],
    ...control?.see(state, token),
    maxToolCalls: meter.maxToolCalls,
    // Leaves out an interrupt, because the run ends with the interrupt's message, not with the cancellation.
    ...(cause !== undefined && cause.kind !== "interrupt" && { ended: endingOfReason(cause) }),
    ...(spentOutside !== undefined && { spentOutside }),
  };
}
