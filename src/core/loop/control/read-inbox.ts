// Reads the inbox of a run (messages, cancellations and limits from outside) in a journal step.

import type { UserMessage } from "../../types/message.ts";
import type { Ending } from "../../types/termination.ts";
import { type Cancellable, type CancelReason, endingOfReason } from "../../cancellation/cancel-scope.ts";
import { whenReady } from "../../utils/promises.ts";
import { applyStep, previewLook } from "../state/apply-step.ts";
import type { LoopState } from "../state/loop-state.ts";
import type { InboxAnswer } from "../state/step-result.ts";
import { eventBase, type Run } from "../run/run.ts";
import type { Expected } from "../run/meter.ts";
import { mayReopen } from "../run/continue-run.ts";
import { noteWork, runStep } from "../run/run-step.ts";
import { isTooLong } from "../state/transcript.ts";
import { endingKey, inboxKey, lastInboxKey } from "../state/step-key.ts";

export type FindEnd = (looked: LoopState) => Ending | undefined;

export function readInbox(run: Run, findEnd: FindEnd): void | PromiseLike<void> {
  const { state } = run;
  const { phase } = state;
  const stays = phase === "start" || phase === "resume";
  const key = inboxKey(state, stays ? 0 : 1, stays ? state.resumes : 0);
  run.isIterationReplayed = true;
  const look = (expected: Expected | undefined): InboxAnswer => {
    const answer = withCompaction(run, withForced(run, lookAround(run)));
    if (answer.drain === true) shutIfLast(run, findEnd({ ...previewLook(state, answer), phase: "inbox" }));
    const mayStream = answer.ended === undefined && answer.drain !== true && answer.spentOutside === undefined;
    if (mayStream && phase !== "resume") run.meter.begin(expected);
    return answer;
  };
  const body = (): InboxAnswer | PromiseLike<InboxAnswer> => {
    // Marks the iteration as not replayed. `readLastInbox` must not do this, because only a replayed iteration can be retried.
    // The process may crash before the journal has recorded the final reading, and a retry must then be possible.
    noteWork(run);
    return whenFree(run, look);
  };
  return whenReady(readStep(run, key, body), (found) => applyStep(state, { kind: "inbox", answer: found }));
}

function expectedOf({ state: { streamResults, lastCostUSD } }: Run): Expected | undefined {
  const last = streamResults.at(-1);
  return last === undefined ? undefined : { tokens: last.usage?.totalTokens ?? 0, costUSD: lastCostUSD };
}

/**
 * Calls `look` when no streams of other nested runs may use up the limits of an outer run. Otherwise all nested runs would begin a
 * stream with the last of the same budget. A cancellation ends the wait.
 */
function whenFree(run: Run, look: (expected: Expected | undefined) => InboxAnswer): InboxAnswer | Promise<InboxAnswer> {
  const { scope, meter } = run;
  const expected = expectedOf(run);
  const onSettled = scope.cause === undefined ? meter.findBusy(expected) : undefined;
  if (onSettled === undefined) return look(expected);
  const settled = new Promise<void>((resolve) => {
    const slot: Cancellable = { cancel: () => end() };
    const leave = onSettled(() => end());
    const end = (): void => {
      scope.leave(slot);
      leave();
      resolve();
    };
    scope.join(slot);
  });
  // The next run sees the stream of this run, because `look` counts it at once.
  return settled.then(() => whenFree(run, look));
}

/**
 * Reads the inbox one more time before the run ends with `ending`. Skips a recorded reading that belongs to another ending. For
 * example, an earlier execution reached a limit that is higher in this execution.
 */
export function readLastInbox(run: Run, ending: Ending, findEnd: FindEnd): void | PromiseLike<void> {
  const { state } = run;
  const before = endingKey(state, ending);
  const body = (): InboxAnswer => {
    const answer: InboxAnswer = { ...lookAround(run), before, ending, after: state.phase };
    if (run.control === undefined) return answer;
    const end = findEnd({ ...previewLook(state, answer), phase: "last-look", ending });
    shutIfLast(run, end);
    return end === undefined ? { ...answer, goesOn: true } : answer;
  };
  const read = (attempt: number): void | PromiseLike<void> =>
    whenReady(readStep(run, lastInboxKey(state, attempt), body), (found) => {
      if (found.before !== before) return read(attempt + 1);
      // A recorded ending keeps its numbers, for example those of the limit that ended the run.
      return applyStep(state, { kind: "last-look", answer: found, ending: found.ending ?? ending, attempt });
    });
  return read(state.endChecks);
}

/**
 * Closes the control before the journal records the final reading of the inbox. An open control would accept messages during the
 * write, and nobody would read them. The control stays open if a retry may follow. It also stays open if a nested run is
 * suspended, because the outer run may still continue the nested run.
 */
function shutIfLast(run: Run, ending: Ending | undefined): void {
  if (ending === undefined) return;
  const isOpen = ending.status === "suspended" ? run.park !== undefined : mayReopen(run, ending);
  if (!isOpen) run.control?.shut();
}

/**
 * Runs the step that reads the inbox. The control keeps its messages until the journal has recorded them. If the journal fails,
 * the next run with the same control gets the messages.
 */
function readStep(
  run: Run,
  key: string,
  body: () => InboxAnswer | PromiseLike<InboxAnswer>,
): InboxAnswer | PromiseLike<InboxAnswer> {
  let seen: InboxAnswer | undefined;
  const note = (): InboxAnswer | PromiseLike<InboxAnswer> =>
    whenReady(body(), (answer) => {
      seen = answer;
      return answer;
    });
  return runStep({ key, kind: "inbox", input: null, run: note }, run, (answer) => {
    run.control?.takeMessages(seen?.messages?.length ?? 0);
    run.codeVersion = answer.codeVersion ?? run.codeVersion;
    return answer;
  });
}

export function steerRun(run: Run): void {
  const { state, events } = run;
  const base = eventBase(run, !run.isIterationReplayed);
  for (const { verb, message } of state.unsent) if (verb === "steer") events.send({ type: "steered", ...base, message });
  applyStep(state, { kind: "steer" });
}

/**
 * Releases the control, and returns the messages that the model did not get. Omits the interrupting message if it is in `reason`.
 */
export function takeUndelivered({ state, control }: Run, { reason }: Ending): readonly UserMessage[] {
  const said = control?.messages ?? [];
  const left = [...state.unsent, ...said];
  control?.takeMessages(said.length);
  control?.release(reason.kind);
  const consumed = reason.kind === "interrupted" ? left.findIndex(({ verb }) => verb === "interrupt") : -1;
  return left.filter((_, index) => index !== consumed).map(({ message }) => message);
}

/**
 * Adds the new iterations of the caller's set `force`. The record keeps these iterations, because a replay must mask the same
 * results even if the caller has changed the set.
 */
function withForced({ view, features, events, state }: Run, answer: InboxAnswer): InboxAnswer {
  const force = features.masking?.force;
  if (force === undefined || view === undefined) return answer;
  let forced: readonly number[] = [];
  const find = (): void => void (forced = view.findForced(force));
  events.guard({ type: "masking.force", iteration: state.iteration }, find);
  return forced.length === 0 ? answer : { ...answer, force: forced };
}

/** Records the decision to summarize old messages, because a later execution may have other limits or context windows. */
function withCompaction(run: Run, answer: InboxAnswer): InboxAnswer {
  const { features, events, state } = run;
  const { compaction } = features;
  if (compaction === undefined || answer.ended !== undefined) return answer;
  if (state.phase === "model" && isTooLong(state)) return { ...answer, compact: "forced" };
  let isDue = false;
  events.guard({ type: "compaction.contextWindow", iteration: state.iteration }, () => void (isDue = compaction.isDue(run)));
  return isDue ? { ...answer, compact: "due" } : answer;
}

function lookAround(run: Run): InboxAnswer {
  const { clock, token, scope, control, meter, state } = run;
  const now = clock.now();
  scope.checkDeadline(now);
  const { cause } = scope;
  const messages = control?.messages ?? [];
  const drains = control?.drains === true;
  const spentOutside = meter.findSpentOutside(state.lastCostUSD);
  const base = { now, token, ...newVersionOf(run) };
  if (cause === undefined && messages.length === 0 && !drains && spentOutside === undefined) return base;
  return {
    ...base,
    ...endedBy(cause),
    ...(messages.length === 0 ? {} : { messages: [...messages] }),
    ...(drains ? { drain: true } : {}),
    ...(spentOutside === undefined ? {} : { spentOutside }),
  };
}

function newVersionOf({ options: { version }, codeVersion }: Run): Pick<InboxAnswer, "codeVersion"> {
  return version === undefined || version === codeVersion ? {} : { codeVersion: version };
}

/** An interrupt has no ending here, because the interrupting message in the inbox ends the run. */
function endedBy(cause: CancelReason | undefined): Pick<InboxAnswer, "ended"> {
  return cause === undefined || cause.kind === "interrupt" ? {} : { ended: endingOfReason(cause) };
}
