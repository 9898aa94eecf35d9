// The loop: decides what comes next, does it, applies the result, until the run ends. Every effect is a step of the journal.

import type { CallSummary } from "../types/loop-event.ts";
import type { NestedSpending, ShownTool, ToolCall } from "../types/tool-outcome.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import type { Message } from "../types/message.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { endingOfReason, isEnded } from "../../shared/cancellation/cancel-scope.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { digest, stableJson } from "../../shared/json.ts";
import { checkAnswers } from "./answers.ts";
import { buildResult } from "./build-result.ts";
import { performCall } from "./execute-tool-call.ts";
import { blame, compareMiddleware, HookError, JournalFailure, recordingNames, StepCancelled } from "./hooks.ts";
import { findLimit, type NextStep, nextStep } from "./next-step.ts";
import { recordVersion, ReplayJournal } from "./journals.ts";
import { type Close, closeFailed, openJournal, withPartial } from "./open-journal.ts";
import { StepRecorder, sumOf } from "./recorder.ts";
import { placeOf, stepOf } from "./places.ts";
import { hasCallRecords, runCalls, sendCutEnds } from "./run-calls.ts";
import { runIteration } from "./run-iteration.ts";
import { Activity } from "./activity.ts";
import { Run, type RunPorts, type SeamOptions } from "./run.ts";
import type { Answer, Ending, State } from "../types/middleware.ts";
import { describeTools } from "./shown-tools.ts";
import { applyNested } from "../../shared/count-usage.ts";
import { type Again, applyAgain } from "./state.ts";
import { continuationOf, lookKey, type Looking, mayEnd, mayRetry, see, sendSteered, takeLook } from "./take-look.ts";

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

async function drive(run: Run): Promise<LoopResult> {
  let close: Close | undefined;
  try {
    const opened = await openJournal(run);
    if (typeof opened === "function") close = opened;
    const ending = await begin(run, typeof opened === "object" ? opened : undefined);
    // An open control would accept messages that nobody reads.
    if (run.outer === undefined) run.control?.shut();
    const closing = close;
    close = undefined;
    if (closing !== undefined) await run.guard?.ask({ verb: "close" }, closing);
    return finish(run, ending);
  } catch (error) {
    const thrown = error instanceof JournalFailure ? error.cause : error;
    run.events.fail(thrown);
    // Cancels everything that may still run.
    run.scope.cancel({ kind: "abort", reason: thrown });
    if (close !== undefined) await closeFailed(run, close);
    throw error instanceof JournalFailure && run.root === run ? withPartial(run, thrown) : error;
  } finally {
    run.release();
  }
}

/** `late` is the ending of a run whose time was over before the journal has opened. */
async function begin(run: Run, late: Ending | undefined): Promise<Ending> {
  if (late !== undefined) {
    sendRunStart(run);
    return late;
  }
  const unknown = run.root === run ? await checkAnswers(run) : undefined;
  if (unknown === undefined) return takeSteps(run);
  // Runs over the records, to find the waits that the error lists. Nothing new runs, and nothing is recorded.
  await followRecords(run);
  const waiting = [...run.opened].slice(0, maxListed);
  throw new LoopError("unknown-decision", { call: unknown, ...(waiting.length > 0 && { waiting }) });
}

async function takeSteps(run: Run): Promise<Ending> {
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
  const next = run.isReplayed && decided.kind === "look" ? await followRecord(run, decided) : decided;
  // Listeners of the event may cancel the run, but its calls have then been waiting already.
  const hasEnded = isEnded(run.scope);
  if (next.kind !== "calls") sendIterationEnd(run, next.kind === "request");
  const ending = await perform(run, next, hasEnded);
  const { refusal, guard } = run.root;
  const broken = refusal === undefined ? guard?.broken : { error: refusal };
  // Also if the tool that began a nested run has caught its error.
  if (broken !== undefined) throw new JournalFailure("The journal has failed.", { cause: broken.error });
  return ending;
}

/** The journal may go on although this execution would end the run, for example with a smaller limit. */
async function followRecord(run: Run, decided: NextStep): Promise<NextStep> {
  const { state, journal, prefix } = run;
  const answer = state.answers.at(-1);
  const isPaused = state.phase === "answer" && state.skipped === undefined && answer !== undefined && isUnfinished(answer);
  const place = `${prefix}${placeOf(state)}/${stepOf("request", state.continuation)}`;
  for (const record of isPaused ? ["model", "ended"] : [])
    if ((await journal.read(`${place}/${record}`)) !== undefined) return { kind: "request" };
  return (await hasCallRecords(run, decided)) ? { kind: "calls" } : decided;
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
  if (ending !== undefined && "waits" in ending.reason) return endUndone(run, ending);
  if (first === undefined || ending !== undefined) await takeLook(run, { planned: ending, retries: isRetried(run, ending) });
  return undefined;
}

/** True if an earlier execution made the request that failed, but did not record its end, and this execution makes it again. */
function isRetried(run: Run, planned: Ending | undefined): boolean {
  if (planned === undefined || !run.isRequestReplayed) return false;
  return run.state.answers.at(-1)?.status === planned.status && mayRetry(run, planned);
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
  const isUndone = run.isReplayed && (run.beganEnded || run.answers.size > 0);
  return (hasEnded && !isUndone) || run.isSettled || run.hold();
}

function waiting({ state: { waits } }: Run): Ending {
  return { status: "suspended", reason: { kind: "waiting", waits } };
}

export interface FirstRecord {
  readonly version: number;
  readonly runId?: string | undefined;
  readonly messages: readonly Message[];
  readonly messagesDigest: string;
  readonly middleware: readonly string[];
  /** The tools at the start. Answers describe those that were added or changed later. */
  readonly tools: { readonly [name: string]: ShownTool };
  /** True if the run has the option `pricing`. */
  readonly priced?: true | undefined;
  /** The option `version` of the run. */
  readonly codeVersion?: string | undefined;
}

/** Records what identifies the run, or compares it with the record. */
async function recordFirst(run: Run): Promise<void> {
  const { options, state } = run;
  const middleware = recordingNames(run.middleware);
  const messagesDigest = digest(stableJson(state.messages));
  const now: FirstRecord = {
    version: recordVersion,
    ...(options.runId !== undefined && { runId: options.runId }),
    messages: [...state.messages],
    messagesDigest,
    middleware,
    tools: describeTools(run),
    ...(options.pricing !== undefined && { priced: true }),
    ...(options.version !== undefined && { codeVersion: options.version }),
  };
  const first = await run.step<FirstRecord>("run", () => now);
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    if (field === "runId" && (first.runId === undefined || now.runId === undefined)) continue;
    if (first[field] !== now[field])
      throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(first[field]) });
  }
  run.firstTools = first.tools;
  state.codeVersion = first.codeVersion;
  compareMiddleware(first.middleware, middleware);
}

/** Goes as far as the records go. Returns the ending of the run, or undefined if its next step is not recorded. */
async function followRecords(run: Run): Promise<Ending | undefined> {
  const replay = new ReplayJournal(run.journal);
  run.journal = replay;
  return Promise.race([takeSteps(run), replay.stuck.then(() => undefined)]);
}

/** The state of a run as its records have it. */
export interface ReadRun {
  readonly state: State;
  /** Undefined if the next step of the run is not recorded. */
  readonly result: LoopResult | undefined;
  /** The fields that the hooks add to the result. */
  readonly extra: object;
}

/** Reads a run from its journal. Nothing new runs, and nothing is recorded. `readCall` reads the calls. */
export async function readRun(options: SeamOptions, ports: Pick<RunPorts, "readCall">): Promise<ReadRun> {
  const run = new Run(options, { ...ports, drive });
  try {
    run.journal = run.records;
    const ending = await followRecords(run);
    const { state, hooks } = run;
    const extra = Object.assign({}, ...hooks.map((one) => one.result?.(state))) as object;
    return { state, extra, result: ending && finish(run, ending) };
  } finally {
    run.release();
  }
}

const maxListed = 10;

/** Asks the middleware whether to go on instead. Returns undefined if the run goes on. */
async function endRun(run: Run, first: Ending): Promise<Ending | undefined> {
  // A planned ending was asked about before the look. After a drain, the iteration has ended, so middleware may still end the run.
  const isDrained = first.reason.kind === "drained" && run.state.phase === "look";
  const isAsked = (isFinal(first) && !isDrained) || run.planned !== undefined;
  const ending = isAsked ? first : await askBeforeEnd(run, first);
  if (ending === undefined) return ending;
  // Calls that wait, or whose nested run was drained, go on where they are. Only what a look has decided has an end to record.
  if ("waits" in ending.reason || run.state.phase === "calls") return endUndone(run, ending);
  if (await isOver(run, ending)) return ending;
  const goOn = await findContinuation(run, ending);
  if (goOn === undefined) return ending;
  const { lookAttempt } = run.state;
  run.state.lookAttempt = { ...lookAttempt, count: lookAttempt.count + 1 };
  await takeLook(run, goOn);
  return undefined;
}

/** True if this execution has decided to end. A nested run that is suspended waits until nothing else can go on. */
async function isOver(run: Run, ending: Ending): Promise<boolean> {
  if (run.state.look?.token !== run.token) return false;
  // An open control would accept messages that nobody reads.
  if (mayEnd(run, ending)) run.control?.shut();
  return ending.status !== "suspended" || !(await run.hold());
}

/**
 * Returns the ending of a run whose calls wait. If the run was cancelled before this execution did anything, the caller gets the
 * ending of a cancelled run, and the calls still wait.
 */
function endUndone(run: Run, ending: Ending): Ending {
  const { scope, isReplayed, answers } = run;
  const { cause } = scope;
  if (cause === undefined || !isReplayed || run.root !== run) return ending;
  return isEnded(scope) || answers.size > 0 ? endingOfReason(cause) : ending;
}

/** An earlier execution ended here. Decides whether this one goes on. */
async function findContinuation(run: Run, ending: Ending): Promise<Looking | undefined> {
  const { journal, prefix } = run;
  const { base, count } = run.state.lookAttempt;
  const nextKey = prefix + lookKey({ lookAttempt: { base, count: count + 1 } });
  const recorded = (await journal.read(nextKey)) as { readonly retries?: true } | undefined;
  const isOver = run.isInSealed || run.root.records.readOnly === true || journal instanceof ReplayJournal;
  if (recorded === undefined && isOver) return undefined;
  if (ending.reason.kind === "drained") return { planned: run.planned };
  return recorded === undefined ? findRoom(run, ending) : { retries: recorded.retries === true };
}

/** A run that ended at a limit goes on if the limit is higher now. */
function findRoom(run: Run, ending: Ending): Looking | undefined {
  const { state, limits } = run;
  const { reason } = ending;
  const { kind } = reason;
  // After a final answer, the newest message has no refused call any more.
  if (reason.kind === "max-tool-calls" && limits.maxToolCalls <= reason.limit) return undefined;
  // A stream that the time limit has cut off is only made again with `resume`.
  const isCutOff = kind === "wall-clock" && run.planned !== undefined;
  const seen = limited.has(kind) && !isCutOff ? see(run) : undefined;
  if (seen !== undefined && findLimit(state, seen, limits) === undefined) return {};
  // A retry counts the errors from zero again.
  const isLimited = seen !== undefined && findLimit({ ...state, consecutiveToolErrors: 0 }, seen, limits) !== undefined;
  return !isLimited && mayRetry(run, ending) ? { retries: true } : undefined;
}

const limited: ReadonlySet<string> = new Set([
  "max-iterations",
  "max-tool-calls",
  "max-tokens",
  "max-cost",
  "cost-unknown",
  "wall-clock",
  "tool-error-cap",
]);

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
    const isRead = !isChanged && run.isReplayed;
    const read = isRead ? ((await run.journal.read(run.prefix + key)) as AskedEnd | undefined) : undefined;
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

function finish(run: Run, ending: Ending): LoopResult {
  if (ending.status !== "suspended") sendCutEnds(run);
  if (run.root === run) run.endReplay();
  const result = buildResult(run, ending);
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const kind = notices[ending.reason.kind];
  if (kind !== undefined && run.session.surfaceUserErrors !== false) run.send("notice", { kind });
  run.send("run-end", { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs });
  return result;
}
