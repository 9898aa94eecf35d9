// Runs one journal step: does it, or takes its recorded result.

import { LoopError } from "../../errors/loop-error.ts";
import { describeValue } from "../../utils/texts.ts";
import { dropPromise, whenReady } from "../../utils/promises.ts";
import { JournalCall, refuseBroken, type StepMark } from "./journal-call.ts";
import type { Run } from "./run.ts";
import type { Step, StepKind } from "../../types/journal.ts";
import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";
import { checkAnswer } from "../state/check-answer.ts";
import { isDecisionKey } from "../state/step-key.ts";
import type { ParkedEnd } from "./parking.ts";
import type { Ending, LoopStatus } from "../../types/termination.ts";

/** Lets go of a journal. */
export type CloseJournal = () => void | PromiseLike<void>;

/** Opens the journal where it has to be opened; undefined where not. A journal that is open too late is closed again. */
export function openJournal(run: Run): undefined | CloseJournal | PromiseLike<CloseJournal> {
  const { journal } = run;
  if (journal.open === undefined) return undefined;
  const closeLate = (close: () => unknown): void => {
    try {
      dropPromise(close());
    } catch {
      // The run is over, so nobody can be told, not even that this is no function.
    }
  };
  const opened: PromiseLike<() => PromiseLike<void>> = journal.open();
  return new JournalCall(run, "open").take(opened, (close) => toClose(run, close), closeLate);
}

function toClose(run: Run, close: () => PromiseLike<void>): CloseJournal {
  const given: unknown = close;
  if (typeof given === "function") return () => new JournalCall(run, "close").take(close(), () => {});
  const expected = "a promise of the function that closes it";
  throw new LoopError("invalid-option", { option: "journal.open()", expected, received: describeValue(given) });
}

/** Whether a journal under which nothing runs has recorded a step. */
export function isReplayed(run: Run, key: string): boolean | PromiseLike<boolean> {
  return askWhether(run, "replays", key);
}

/** Whether a journal has recorded a step; false where it cannot say. */
export function isRecorded(run: Run, key: string): boolean | PromiseLike<boolean> {
  return askWhether(run, "has", key);
}

function askWhether(run: Run, verb: "replays" | "has", key: string): boolean | PromiseLike<boolean> {
  const answer: unknown = run.journal[verb]?.(key) ?? false;
  return new JournalCall(run, verb, key).take(answer, (recorded) => recorded === true);
}

/** Runs or replays one step. `then` takes its answer, and whether it was made in this execution. */
export function runStep<T, Next>(
  step: Step<T>,
  run: Run,
  then: (answer: T, live: boolean) => Next | PromiseLike<Next>,
): Next | PromiseLike<Next> {
  const asked = new JournalCall(run, "step", step.key);
  const mark = asked.expect(step.key);
  return asked.take(run.journal.step(prepare(step, run, mark)), (answer) => then(readAnswer(answer, mark), mark.live));
}

/** Runs or replays several steps, created in order; a single one is a plain step. `then` as for one. */
export function runSteps<T, Next>(
  steps: readonly Step<T>[],
  run: Run,
  then: (answers: readonly T[], live: readonly boolean[]) => Next | PromiseLike<Next>,
): Next | PromiseLike<Next> {
  const [only] = steps;
  if (only !== undefined && steps.length === 1) return runStep(only, run, (answer, live) => then([answer], [live]));
  const asked = new JournalCall(run, "all", only?.key);
  const prepared = steps.map((step) => prepare(step, run, asked.expect(step.key)));
  return asked.take(run.journal.all(prepared), (answers) => {
    const given: unknown = answers;
    if (!Array.isArray(given)) throw badAnswer(given, `"all" of ${steps.length} steps`);
    if (answers.length !== steps.length) throw new Error(`The journal answered ${answers.length} of ${steps.length} steps.`);
    asked.marks.forEach((mark, index) => readAnswer(answers[index], mark));
    return then(
      answers,
      asked.marks.map(({ live }) => live),
    );
  });
}

/** Every step gives an object: a journal that gives something else has lost what it kept. */
function readAnswer<T>(answer: T, { key, live }: StepMark): T {
  if (typeof answer !== "object" || answer === null) throw badAnswer(answer, `step "${key}"`);
  if (!live) checkAnswer(key, answer);
  return answer;
}

function badAnswer(answer: unknown, asked: string): Error {
  return new TypeError(`The journal must give back what was kept for ${asked}, but gave ${describeValue(answer)}.`);
}

/**
 * Kinds of steps by which a run does something: asks the model, runs a tool, calls a hook. The others only find out where it stands: "run",
 * "inbox", "validation" and "approval". With the first acting step that is not replayed, the iteration is new.
 */
const acting: ReadonlySet<StepKind> = new Set(["model", "intent", "tool", "results", "hook", "reopen"]);

/** Called before the body of a step, which runs only if the step is not replayed. */
function prepare<T>({ key, kind, input, run: body }: Step<T>, run: Run, mark: StepMark): Step<T> {
  const start: Step<T>["run"] = (call) => {
    const { bounds, scope, clock, state } = run;
    mark.call.refuseLate();
    // A journal that says something is recorded, and has not got it, would have the run come back here for ever.
    if (run.journal.replays !== undefined) throw new LoopError("journal-incomplete", { key });
    // It starts with the first step that is not replayed: what was active before, in other executions, is already spent.
    if (bounds.wallClockMs !== Number.POSITIVE_INFINITY) {
      scope.startWallClock(bounds.wallClockMs, clock.now() - state.activeMs, clock);
    }
    if (acting.has(kind)) {
      refuseUnknownDecisions(run);
      noteWork(run);
    }
    mark.live = true;
    return whenReady(
      run.traffic.runBody(() => body(call), mark),
      (answer) => {
        refuseBroken(run);
        return answer;
      },
    );
  };
  const begin: Step<T>["run"] = (call) => {
    const turn = isNew(key, kind) ? waitForTurn(run) : undefined;
    return turn === undefined ? start(call) : turn.then(() => start(call));
  };
  const perform = run.journal.durable ? obeyEngine(begin, run.scope) : begin;
  return { key, kind, input, run: (call) => markHandled(perform(call)) };
}

/** A journal that throws may never look at the bodies it has begun: they reject as the run is broken, and nobody else would hear it. */
function markHandled<T>(answer: T | PromiseLike<T>): T | PromiseLike<T> {
  if (answer instanceof Promise) answer.catch(() => {});
  return answer;
}

/** Whether a step does something new, or asks somebody. Finding a decision does not. */
function isNew(key: string, kind: StepKind): boolean {
  return acting.has(kind) || kind === "inbox" || (kind === "approval" && !isDecisionKey(key));
}

/** A decision that nothing waits for is found before anything is done. A run that is being ended has taken none. */
function refuseUnknownDecisions({ decisions, state, registry, scope }: Run): void {
  if (decisions.isEmpty || scope.cause !== undefined) return;
  decisions.refuseLeft(state.current.calls.filter(({ name }) => registry.agentOf?.(name) !== undefined));
}

/** An engine that cancels a step aborts the run; its signal is let go when the step ends. */
function obeyEngine<T>(run: Step<T>["run"], scope: CancelScope): Step<T>["run"] {
  return async (call) => {
    const letGo = scope.follow(call.signal);
    try {
      return await run(call);
    } finally {
      letGo();
    }
  };
}

/** Parks a run, where it is inside a call; any other one is suspended at once. */
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
 * Has a run wait that was begun to replay what is recorded: what it does next counts against limits that it shares with the calls beside
 * it, and so does what these have done before. Undefined for a run that need not wait.
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

/** Whether a run ends although something of it waits, or one that is parked in it does. */
function mustEnd(run: Run): boolean {
  return run.journal.replays === undefined && (isCut(run) || run.parking?.mustGoOn === true);
}

/**
 * Whether somebody has ended a run that has done something new. One that was told to end before that leaves its records as they were: what
 * waits goes on waiting, and the next execution takes the decisions.
 */
export function isCut(run: Run): boolean {
  return isEnded(run.scope) && hasWorked(run);
}

/** A run, and those around it whose steps are in the same journal. */
type Part = Pick<Run, "replayed" | "isPart"> & { readonly outer: Part | undefined };

/** Notes that a run does something new. Then the runs around it do, for it is part of what their iterations do. */
export function noteWork(run: Part): void {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) one.replayed = false;
}

function hasWorked(run: Part): boolean {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) if (!one.replayed) return true;
  return false;
}

function outerOf({ isPart, outer }: Part): Part | undefined {
  return isPart ? outer : undefined;
}

const reopenable: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "stopped-by-user"]);

/** Whether a retry may follow an ending: one that is recorded, or one that this call asks for. What led to the ending was replayed. */
export function mayReopen(run: Pick<Run, "replayed" | "isPart">, { status }: Ending): boolean {
  return run.replayed && !run.isPart && reopenable.has(status);
}
