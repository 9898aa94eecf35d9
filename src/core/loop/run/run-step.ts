// Runs a step: performs its effect and records the result, or returns the recorded result. Also keeps track of how far a run is
// replayed, because a nested run waits between its replay and its first new step.

import { LoopError } from "../../errors/loop-error.ts";
import { describeValue } from "../../utils/texts.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { JournalCall, refuseBroken, type StepMark } from "./journal-call.ts";
import type { Run } from "./run.ts";
import type { Step, StepKind } from "../../types/old-journal.ts";
import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";
import { edges } from "../../utils/edges.ts";
import { isDecisionKey } from "../state/step-key.ts";
import type { ParkedEnd } from "./parking.ts";

export function runStep<T, Next>(
  step: Step<T>,
  run: Run,
  then: (answer: T, live: boolean) => Next | PromiseLike<Next>,
): Next | PromiseLike<Next> {
  const asked = new JournalCall(run, "step", step.key);
  const mark = asked.expect(step);
  const ask = (): PromiseLike<T> | T => run.journal.step(toJournalStep(step, run, mark));
  return asked.take(ask, (answer) => {
    readAnswer(run, mark, answer);
    return then(answer, mark.live);
  });
}

/** Every step returns an object, so any other value means that the journal has lost the record. */
function readAnswer(run: Run, { call, key, kind, live }: StepMark, answer: unknown): void {
  if (typeof answer !== "object" || answer === null) throw call.toFailure(badAnswer(answer, `step "${key}"`));
  if (live) return;
  try {
    edges.checkRecord?.(key, answer);
  } catch (error) {
    throw call.toFailure(error);
  }
  noteReplayed(run, kind);
}

function badAnswer(answer: unknown, asked: string): Error {
  return new TypeError(`The journal must return the recorded result of ${asked}, but returned ${describeValue(answer)}.`);
}

/**
 * The kinds of steps with an effect. Steps of the other kinds ("run", "inbox", "validation", "approval", "result") only read. An
 * iteration counts as replayed until its first new step with an effect.
 */
const acting: ReadonlySet<StepKind> = new Set(["model", "intent", "tool", "results", "hook", "reopen"]);

/** Wraps the function of a step. The journal calls the function only if the step is not replayed. */
function toJournalStep<T>({ key, kind, input, run: body }: Step<T>, run: Run, mark: StepMark): Step<T> {
  const runBody: Step<T>["run"] = (call) => {
    const turn = isNew(key, kind) ? waitForTurn(run) : undefined;
    if (turn !== undefined) return markHandled(turn.then(() => runBody(call)));
    checkBody(run, kind, mark);
    run.traffic.beginBody();
    let answer: Promise<T> | T;
    try {
      answer = promiseOrValue(body(call));
    } catch (error) {
      run.traffic.endBody(mark, undefined, error);
      throw error;
    }
    if (!(answer instanceof Promise)) return endBody(run, mark, answer);
    const ended = answer.then(
      (value) => endBody(run, mark, value),
      (error: unknown) => {
        run.traffic.endBody(mark, undefined, error);
        throw error;
      },
    );
    return markHandled(ended);
  };
  return { key, kind, input, run: run.journal.durable ? obeyEngine(runBody, run.scope) : runBody };
}

/** Throws if the step may no longer run. */
function checkBody(run: Run, kind: StepKind, mark: StepMark): void {
  const { bounds, scope, clock, state } = run;
  mark.call.refuseLate();
  // A journal with `replays` must not run new steps. Without this error, the loop would never end if `replays` announced a record
  // that the journal has lost.
  if (run.journal.replays !== undefined) throw new LoopError("journal-incomplete", { key: mark.key });
  // The wall clock starts with the first new step. The active time of earlier executions counts too.
  if (bounds.wallClockMs !== Number.POSITIVE_INFINITY) {
    scope.startWallClock(bounds.wallClockMs, clock.now() - state.activeMs, clock);
  }
  if (acting.has(kind)) {
    refuseUnknownDecisions(run);
    noteWork(run);
    endReplay(run);
  }
  mark.live = true;
}

function endBody<T>(run: Run, mark: StepMark, answer: T): T {
  run.traffic.endBody(mark, answer);
  refuseBroken(run);
  return answer;
}

/**
 * Marks the rejection of a promise as handled. A journal that has failed might never await the steps that it has started. These
 * steps reject when the run fails, and an unhandled rejection would end the process.
 */
function markHandled<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {});
  return answer;
}

/**
 * True if the step has an effect, reads the inbox, or waits for a decision or a result. A step that records a decision from the
 * caller does not count.
 */
function isNew(key: string, kind: StepKind): boolean {
  return acting.has(kind) || kind === "inbox" || ((kind === "approval" || kind === "result") && !isDecisionKey(key));
}

/** A run that is being cancelled uses no decisions, so unused decisions are no error. */
function refuseUnknownDecisions(run: Run): void {
  const { decisions, state, registry, scope } = run;
  if (decisions.isEmpty || scope.cause !== undefined) return;
  for (let inner = run; inner.sharesJournal && inner.outer !== undefined; inner = inner.outer)
    inner.outer.decisions.refuseElsewhere(inner.outer.state.current.calls);
  decisions.refuseUnused(state.current.calls.filter(({ name }) => registry.agentOf?.(name) !== undefined));
}

/** Aborts the run if the workflow engine cancels the step. The listener on the engine's signal is removed when the step ends. */
function obeyEngine<T>(run: Step<T>["run"], scope: CancelScope): Step<T>["run"] {
  const obey: Step<T>["run"] = async (call) => {
    const letGo = scope.follow(call.signal);
    try {
      return await run(call);
    } finally {
      letGo();
    }
  };
  return (call) => markHandled(Promise.resolve(obey(call)));
}

export function parkRun(run: Run, isDrained: boolean): Promise<ParkedEnd> | ParkedEnd {
  const suspend = (): void => {
    run.control?.shut();
    run.parking?.suspend();
  };
  if (run.park !== undefined) return run.park({ scope: run.scope, isDrained, mustEnd: () => mustEnd(run), suspend });
  suspend();
  return "suspended";
}

/**
 * Lets a nested run wait after its replay. The calls of an iteration share limits, so all of them must finish their replay before
 * one of them takes new steps. Returns undefined if the run need not wait.
 */
export function waitForTurn(run: Run): Promise<void> | undefined {
  if (!run.awaitsTurn) return undefined;
  run.turn ??= takeTurn(run);
  return run.turn;
}

async function takeTurn(run: Run): Promise<void> {
  await parkRun(run, false);
  run.awaitsTurn = false;
  refuseBroken(run);
}

function mustEnd(run: Run): boolean {
  return run.journal.replays === undefined && (isCut(run) || run.parking?.mustGoOn === true);
}

/**
 * True if the run was cancelled, and this execution has taken a new step. If the run is cancelled before its first new step, the
 * cancellation is not recorded. Calls that wait according to the journal then still wait in a later execution. With a workflow
 * engine there is no later execution, because the engine stores the end of the run.
 */
export function isCut(run: Run): boolean {
  return isEnded(run.scope) && (run.journal.wait !== undefined || hasWorked(run));
}

type Part = Pick<Run, "isIterationReplayed" | "sharesJournal"> & { readonly outer: Part | undefined };

/** Marks the iteration as not replayed, also in the outer runs that share the journal. */
export function noteWork(run: Part): void {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) one.isIterationReplayed = false;
}

function noteReplayed(run: Run, kind: StepKind): void {
  if (!acting.has(kind)) return;
  const owner = journalOwnerOf(run);
  if (owner.replayPhase === "none") owner.replayPhase = "begun";
}

export function endReplay(run: Run): void {
  const owner = journalOwnerOf(run);
  if (owner.replayPhase !== "begun") return;
  owner.replayPhase = "over";
  owner.events.send({ type: "replay-end", runId: owner.runId, iteration: owner.state.iteration });
}

function journalOwnerOf(run: Run): Run {
  let owner = run;
  while (owner.sharesJournal && owner.outer !== undefined) owner = owner.outer;
  return owner;
}

/**
 * True if the run can wait for decisions. A run that an ordinary tool started cannot wait, because the step of that tool's call
 * must end.
 */
export function canWait(run: Part): boolean {
  const outer = outerOf(run);
  return outer === undefined ? run.outer === undefined : canWait(outer);
}

export function hasWorked(run: Part): boolean {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) if (!one.isIterationReplayed) return true;
  return false;
}

function outerOf({ sharesJournal, outer }: Part): Part | undefined {
  return sharesJournal ? outer : undefined;
}
