// The loop: decides what comes next, does it, applies the result, until the run ends. Every effect is a step of the journal.

import type { CallSummary } from "../types/loop-event.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { isEnded } from "../../shared/cancellation/cancel-scope.ts";
import { digest, stableJson } from "../../shared/json.ts";
import { buildResult } from "./build-result.ts";
import { performCall } from "./execute-tool-call.ts";
import { blame, HookError, JournalFailure, recordingNames, StepCancelled } from "./hooks.ts";
import { type Looking, type NextStep, nextStep } from "./next-step.ts";
import { type FirstRecord, recordVersion } from "./journals.ts";
import { StepRecorder, sumOf } from "./recorder.ts";
import { placeOf } from "./places.ts";
import { runCalls, sendCutEnds } from "./run-calls.ts";
import { runIteration } from "./run-iteration.ts";
import { Activity } from "./activity.ts";
import { Run, type RunPorts, type SeamOptions } from "./run.ts";
import type { Answer, Ending, State } from "../types/middleware.ts";
import { describeTools } from "./shown-tools.ts";
import { applyNested } from "../../shared/count-usage.ts";
import { type Again, applyAgain } from "./state.ts";
import { continuationOf, mayEnd, sendSteered, takeLook } from "./take-look.ts";

/** Runs a model and its tools until there is an answer, a limit is reached, or the caller ends the run. */
export async function runToolLoop(options: SeamOptions): Promise<LoopResult> {
  return beginLoop(options).result;
}

/** A run that has begun. */
export interface BegunLoop {
  readonly result: Promise<LoopResult>;
  stop(note: string): void;
}

/** Begins a run whose events also go to a queue. Throws synchronously for invalid options. */
export function beginLoop(options: SeamOptions, ports?: Omit<RunPorts, "nesting" | "drive">): BegunLoop {
  const run = new Run(options, { ...ports, drive });
  return { result: drive(run), stop: (note) => run.scope.cancel({ kind: "stop", note }) };
}

/** Runs a run that has been made to its end. */
export async function drive(run: Run): Promise<LoopResult> {
  const { past } = run;
  try {
    const late = await past?.open();
    if (late !== undefined) sendRunStart(run);
    const ending = late ?? (await takeSteps(run));
    // An open control would accept messages that nobody reads.
    if (run.outer === undefined) run.control?.shut();
    await past?.close();
    return finish(run, ending);
  } catch (error) {
    const thrown = error instanceof JournalFailure ? error.cause : error;
    run.events.fail(thrown);
    // Cancels everything that may still run.
    run.scope.cancel({ kind: "abort", reason: thrown });
    throw past === undefined ? error : await past.fail(error);
  } finally {
    run.release();
  }
}

export async function takeSteps(run: Run): Promise<Ending> {
  await recordFirst(run);
  sendRunStart(run);
  for (;;) {
    const ending = await takeStep(run);
    if (ending !== undefined) return ending;
  }
}

/** Decides on one step, and performs it. Returns the ending of the run, or undefined if the run goes on. */
async function takeStep(run: Run): Promise<Ending | undefined> {
  const decided = nextStep(run.state, run.hooks, run.limits);
  const { past } = run;
  const next = past === undefined ? decided : await past.follow(decided);
  // Listeners of the event may cancel the run, but its calls have then been waiting already.
  const hasEnded = isEnded(run.scope);
  if (next.kind !== "calls") sendIterationEnd(run, next.kind === "request");
  const ending = await perform(run, next, hasEnded);
  past?.check();
  return ending;
}

async function perform(run: Run, next: NextStep, hasEnded: boolean): Promise<Ending | undefined> {
  switch (next.kind) {
    case "calls":
      await runCalls(run);
      return undefined;
    case "request":
      await runIteration(run);
      return run.state.waits.length > 0 ? waiting(run) : undefined;
    case "look":
      return look(run, next.planned);
    case "end":
      if (!(await isCut(run, next.ending, hasEnded))) return endRun(run, next.ending);
      await takeLook(run, { planned: next.ending });
      return undefined;
  }
}

/**
 * Looks at what came from outside. The middleware is asked before: a message or a stop that arrives in the meantime counts. Returns
 * the ending of a run whose middleware waits.
 */
async function look(run: Run, planned: Ending | undefined): Promise<Ending | undefined> {
  const { phase, consecutiveToolErrors } = run.state;
  const isCapped = consecutiveToolErrors >= run.limits.maxConsecutiveToolErrors;
  const first = phase === "calls" && !isCapped ? await askAfterCalls(run, planned) : planned;
  const ending = first === undefined || isFinal(first) ? first : await askBeforeEnd(run, first);
  if (ending !== undefined && "waits" in ending.reason) return undone(run, ending);
  if (first === undefined || ending !== undefined)
    await takeLook(run, { planned: ending, retries: run.past?.isRetried(ending) === true });
  return undefined;
}

function isFinal({ status }: Ending): boolean {
  return status === "suspended" || status === "stopped-by-user" || status === "follow-up-interrupt";
}

/**
 * True if the run was stopped while its calls wait. The stop is then recorded, so that the calls never run. A run that was stopped
 * before this execution began, or before it used its answers, stays suspended.
 */
async function isCut(run: Run, ending: Ending, hasEnded: boolean): Promise<boolean> {
  if (ending.status !== "suspended" || run.state.phase !== "calls") return false;
  const { past } = run;
  return (hasEnded && past?.isUndone !== true) || past?.isSettled === true || run.hold();
}

function waiting({ state: { waits } }: Run): Ending {
  return { status: "suspended", reason: { kind: "waiting", waits } };
}

/** Records what identifies the run. A journal is read later, so that a run without one describes nothing. */
async function recordFirst(run: Run): Promise<void> {
  const { options, state, registered, middleware, past } = run;
  const { runId, pricing, version } = options;
  const messages = [...state.messages];
  const now: FirstRecord = {
    version: recordVersion,
    ...(runId !== undefined && { runId }),
    messages,
    get messagesDigest() {
      return digest(stableJson(messages));
    },
    get middleware() {
      return recordingNames(middleware);
    },
    get tools() {
      return describeTools(registered);
    },
    ...(pricing !== undefined && { priced: true }),
    ...(version !== undefined && { codeVersion: version }),
  };
  const first = await run.step<FirstRecord>("run", () => {
    run.described = registered;
    return now;
  });
  past?.compare(first, now);
  if (past === undefined) run.startWallClock();
  run.first = first;
  state.codeVersion = first.codeVersion;
}

/** Asks the middleware whether to go on instead. Returns undefined if the run goes on. */
async function endRun(run: Run, first: Ending): Promise<Ending | undefined> {
  // A planned ending was asked about before the look. After a drain, the iteration has ended, so middleware may still end the run.
  const isDrained = first.reason.kind === "drained" && run.state.phase === "look";
  const isAsked = (isFinal(first) && !isDrained) || run.planned !== undefined;
  const ending = isAsked ? first : await askBeforeEnd(run, first);
  if (ending === undefined) return ending;
  // Calls that wait, or whose nested run was drained, go on where they are. Only what a look has decided has an end to record.
  if ("waits" in ending.reason || run.state.phase === "calls") return undone(run, ending);
  const goOn = (await isOver(run, ending)) ? undefined : await findContinuation(run, ending);
  if (goOn === undefined) return ending;
  const { lookAttempt } = run.state;
  run.state.lookAttempt = { ...lookAttempt, count: lookAttempt.count + 1 };
  await takeLook(run, goOn);
  return undefined;
}

function undone({ past }: Run, ending: Ending): Ending {
  return past === undefined ? ending : past.endUndone(ending);
}

/** Without a past, only a nested run that was drained and then ended goes on, to its next look. */
async function findContinuation({ past, planned }: Run, ending: Ending): Promise<Looking | undefined> {
  return past === undefined ? { planned } : past.findContinuation(ending);
}

/** True if this execution has decided to end. A nested run that is suspended waits until nothing else can go on. */
async function isOver(run: Run, ending: Ending): Promise<boolean> {
  if (run.state.look?.token !== run.token) return false;
  // An open control would accept messages that nobody reads.
  if (mayEnd(run, ending)) run.control?.shut();
  return ending.status !== "suspended" || !(await run.hold());
}

/** How often middleware may go on instead of ending. */
const maxAgains = 10;

/** The place of the steps of `beforeEnd`. */
export function endPlace(state: State): string {
  const { count } = state.lookAttempt;
  return `${placeOf(state)}/end${state.agains === 0 ? "" : `~${state.agains + 1}`}${count === 1 ? "" : `#${count}`}`;
}

type Said = { readonly ending: Ending } | ({ readonly ending: Ending } & Again);

/** Asks the middleware after the calls of a message. Returns the ending, or undefined if the run goes on. */
async function askAfterCalls(run: Run, planned: Ending | undefined): Promise<Ending | undefined> {
  if (run.hooks.every(({ afterCalls }) => afterCalls === undefined)) return planned;
  const asked = await askHooks(run, `${placeOf(run.state)}/after`, async (recorderOf) => {
    for (const { name, afterCalls } of run.hooks) {
      const ending = await afterCalls?.(planned, recorderOf(name, "afterCalls"));
      if (ending !== undefined) return { ending };
    }
    return undefined;
  });
  return asked.said === undefined ? planned : asked.said.ending;
}

interface AskedHooks {
  readonly said: Said | undefined;
  readonly spent: NestedSpending | undefined;
}

/** Asks hooks, and counts what they have spent. A failed hook ends the run. */
async function askHooks(
  run: Run,
  place: string,
  ask: (recorderOf: (name: string, hook: string) => StepRecorder) => Promise<Said | undefined>,
): Promise<AskedHooks> {
  const { state } = run;
  const activity = new Activity(run, { place, path: place, journal: run.journal });
  let asking = "";
  const recorderOf = (name: string, hook: string): StepRecorder => {
    asking = `${name}.${hook}`;
    return new StepRecorder(activity, `@${name}`, performCall);
  };
  const failed = (thrown: unknown): Said => {
    const error = blame(thrown, asking);
    if (error instanceof HookError || error instanceof StepCancelled) return { ending: error.ending };
    throw error;
  };
  const end = await activity.settle(ask(recorderOf).catch(failed));
  const spent = sumOf(activity.spent);
  if (spent !== undefined) applyNested(state, spent);
  if ("value" in end) return { said: end.value, spent };
  state.waits = end.waits;
  return { said: { ending: waiting(run) }, spent };
}

async function askBeforeEnd(run: Run, first: Ending): Promise<Ending | undefined> {
  const { state, limits } = run;
  if (run.hooks.every(({ beforeEnd }) => beforeEnd === undefined)) return first;
  const place = endPlace(state);
  const { said = { ending: first }, spent } = await askHooks(run, place, async (recorderOf) => {
    let ending = first;
    for (const { name, beforeEnd } of run.hooks) {
      const answer = await beforeEnd?.(ending, recorderOf(name, "beforeEnd"));
      if (answer === undefined) continue;
      if ("ending" in answer) ending = answer.ending;
      else if (ending.status === "suspended") continue;
      else if (answer.isCounted === true && state.countedIterations >= limits.maxIterations) continue;
      else if (state.agains < maxAgains && (ending.status === "completed" || state.look?.isExhausted !== true))
        return { ending, ...answer };
    }
    return { ending };
  });
  if ("waits" in said.ending.reason) return said.ending;
  const record: AskedEnd = { phase: state.phase, planned: first, ...said, ...(spent !== undefined && { spent }) };
  const isChanged = "again" in record || record.ending !== first || spent !== undefined;
  const recorded = await recordAsked(run, `${place}/ended`, { record, isChanged });
  if (!("again" in recorded)) return recorded.ending;
  applyAgain(state, recorded, recorded.ending);
  sendSteered(run);
  return undefined;
}

interface NewEnd {
  readonly record: AskedEnd;
  /** True if the middleware has changed the ending. */
  readonly isChanged: boolean;
}

/**
 * Middleware with other options may go on where an earlier execution ended, but must not end where an earlier execution went on.
 * The newest record counts.
 */
async function recordAsked(run: Run, first: string, { record, isChanged }: NewEnd): Promise<AskedEnd> {
  const kindOf = (one: AskedEnd): string => ("again" in one ? "again" : one.ending.reason.kind);
  for (let count = 1; ; count += 1) {
    const key = count === 1 ? first : `${first}~${count}`;
    const read = isChanged ? undefined : ((await run.past?.readAgain(run.prefix + key)) as AskedEnd | undefined);
    const recorded = isChanged ? await run.step<AskedEnd>(key, () => record) : read;
    if (recorded === undefined || kindOf(recorded) === kindOf(record)) return record;
    if ("again" in recorded) return recorded;
  }
}

/** The record of an ending that middleware has changed, for readers that do not run the middleware. */
export type AskedEnd = Said & {
  readonly phase: State["phase"];
  readonly planned: Ending;
  /** The spending of middleware. */
  readonly spent?: NestedSpending | undefined;
};

function sendRunStart(run: Run): void {
  const { id: provider, model } = run.options.provider;
  run.send("run-start", { provider, model });
}

function sendIterationEnd(run: Run, isPaused: boolean): void {
  const { state, events } = run;
  const answer = state.answers.at(-1);
  const isOpen = (state.phase === "answer" && state.skipped === undefined) || state.phase === "calls";
  if (answer === undefined || !isOpen || !events.wants("iteration-end")) return;
  const { status, provider, model, finish, usage, costUSD, durationMs } = answer;
  const continuation = continuationOf(state);
  const calls = isPaused ? [] : summarizeCalls(state, answer);
  const facts = { status, provider, model, finish, usage, costUSD, calls, durationMs };
  run.send("iteration-end", { continuation, ...facts }, run.isRequestReplayed);
}

function summarizeCalls({ phase, lastBatch, current }: State, answer: Answer): readonly CallSummary[] {
  const toSummary = ({ callId, name }: ToolCall, index: number, outcome: CallSummary["outcome"]): CallSummary => ({
    callId,
    name,
    index,
    outcome,
  });
  if (phase === "answer") {
    const early = new Map(current.early.map(({ call, kind }) => [call.callId, kind]));
    const calls = answer.status === "follow-up-interrupt" ? [...current.calls, ...answer.calls] : current.calls;
    return calls.map((call, index) => {
      const kind = early.get(call.callId) ?? "not-run";
      return toSummary(call, index, kind === "deferred" ? "waiting" : kind);
    });
  }
  return lastBatch.map(({ call, outcome, isOpen }, index) =>
    toSummary(call, index, isOpen === true || outcome.kind === "deferred" ? "waiting" : outcome.kind),
  );
}

const notices: { readonly [kind: string]: "max-iterations" | "tool-error-cap" | "stream-timeout" } = {
  "max-iterations": "max-iterations",
  "tool-error-cap": "tool-error-cap",
  "stream-idle": "stream-timeout",
  "first-chunk": "stream-timeout",
  "stream-too-long": "stream-timeout",
};

/** Tells the end of a run, and returns its result. */
export function finish(run: Run, ending: Ending): LoopResult {
  if (ending.status !== "suspended") sendCutEnds(run);
  if (run.root === run) run.past?.endReplay();
  const result = buildResult(run, ending);
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const kind = notices[ending.reason.kind];
  if (kind !== undefined && run.session.surfaceUserErrors !== false) run.send("notice", { kind });
  run.send("run-end", { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs });
  return result;
}
