// The tool loop: decides what comes next, does it, and applies the result, until the run ends. Records every effect as a journal step.

import type { Plain } from "../types/common.ts";
import type { CallSummary } from "../types/loop-event.ts";
import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { NestedSpending } from "../types/tool-outcome.ts";
import { isEnded, endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { buildResult } from "./build-result.ts";
import { performCall } from "./perform-call.ts";
import { blame, endingOfFailure, JournalFailure, type NamedHooks } from "./hooks.ts";
import { type NextStep, nextStep, decideLook, isExhausted, type Looking, type Seen } from "./next-step.ts";
import { placeOf, stepOf } from "./journals.ts";
import { HookRecorder } from "./recorder.ts";
import { runCalls, sendCutEnds } from "./run-calls.ts";
import { runIteration } from "./run-iteration.ts";
import { Activity } from "./activity.ts";
import { Run, type RunPorts, type SeamOptions } from "./run.ts";
import type { Answer, Ending, MiddlewareList, ResultFields, State, Look } from "../types/middleware.ts";
import { applyNested, sumSpending } from "../../shared/count-usage.ts";
import type { AskedEnd, Said } from "./past.ts";
import { applyAgain, endOpen, waitFor, applyLook } from "./state.ts";
import { none } from "./limits.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";

/**
 * Runs a model and its tools until there is an answer, a limit is reached, or the caller ends the run. However the run ends, the
 * promise resolves to a result with the status, the transcript, the calls and the usage. With `structuredOutput`, `result.output`
 * is the answer as a validated value.
 *
 * Rejects for misuse, before any request, with a LoopError: "invalid-option", "unknown-option", "invalid-messages",
 * "duplicate-tool", "invalid-tool", "invalid-schema", "already-running", "journal-mismatch", "tools-changed". Also rejects if the
 * journal hangs, with "journal-unresponsive", or throws an error, with that error. In both cases, `error.details.partial` is the
 * result so far.
 *
 * @example
 * const result = await runToolLoop({
 *   provider: openaiChat({ client: new OpenAI(), model: "gpt-5" }),
 *   tools: [weather],
 *   messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
 * });
 * console.log(result.status, result.reason.kind, result.text);
 */
export async function runToolLoop<
  Output = unknown,
  T extends Tool = Tool,
  List extends readonly [] | readonly unknown[] = readonly [],
>(
  options: LoopOptions<Output, T> & { readonly middleware?: List | MiddlewareList<Output> | undefined },
): Promise<LoopResult<Plain<Output>, T> & ResultFields<List>> {
  // Safe cast: the type parameters come from the schema, the tools and the middleware in `options`.
  return beginRun(options).result as Promise<LoopResult<Plain<Output>, T> & ResultFields<List>>;
}

/** A run that has begun. */
export interface BegunRun {
  readonly result: Promise<LoopResult>;
  stop(note: string): void;
}

/** Begins a run. Throws synchronously for invalid options. */
export function beginRun(options: SeamOptions, ports: Omit<RunPorts, "begin" | "perform"> = {}): BegunRun {
  const run = new Run(options, { ...ports, begin: beginRun, perform: performCall });
  run.outer?.nested.add(run);
  return { result: drive(run), stop: (note) => run.scope.cancel({ kind: "stop", note }) };
}

/** Drives a run to its end. */
export async function drive(run: Run): Promise<LoopResult> {
  const { past } = run;
  try {
    const late = await past?.open();
    if (late !== undefined) sendRunStart(run);
    const ending = late ?? (await takeSteps(run));
    // Closes the control, because a message sent after this point would never be read.
    if (run.outer === undefined) run.control?.shut();
    await past?.close();
    return finish(run, ending);
  } catch (error) {
    const thrown = error instanceof JournalFailure ? error.cause : error;
    run.events.fail(thrown);
    // Cancels everything that may still be running.
    run.scope.cancel({ kind: "abort", reason: thrown });
    if (past !== undefined) throw await past.fail(error);
    throw run.root === run ? thrown : error;
  } finally {
    run.release();
  }
}

export async function takeSteps(run: Run): Promise<Ending> {
  const { past, state, hooks, limits, scope } = run;
  await run.durability?.recordFirst(run);
  if (past === undefined) run.startWallClock();
  sendRunStart(run);
  for (;;) {
    const decided = nextStep(state, hooks, limits);
    const next = past === undefined ? decided : await past.follow(decided);
    // Reads this before sending the event, so that a cancellation by a listener does not count as an earlier stop.
    const hasEnded = isEnded(scope);
    if (next.kind !== "calls") sendIterationEnd(run, next.kind === "request");
    const ending = await perform(run, next, hasEnded);
    past?.check();
    if (ending !== undefined) return ending;
  }
}

/** Executes a step. Returns the ending of the run, or undefined if the run continues. */
function perform(run: Run, next: NextStep, hasEnded: boolean): Promise<Ending | undefined> {
  switch (next.kind) {
    case "calls":
      return runCalls(run);
    case "request":
      return runIteration(run);
    case "look":
      return look(run, next.planned);
    case "end":
      return run.state.phase === "calls" ? suspend(run, next.ending, hasEnded) : endRun(run, next.ending);
  }
}

/**
 * Checks for messages, cancellations and limits. Middleware runs first, so that a message or a stop that arrives while it runs still
 * counts. Returns an ending only if the run ends because its middleware is waiting for an answer.
 */
async function look(run: Run, planned: Ending | undefined): Promise<Ending | undefined> {
  const { phase, consecutiveToolErrors } = run.state;
  const isCapped = consecutiveToolErrors >= run.limits.maxConsecutiveToolErrors;
  const isAsked = phase === "calls" && !isCapped && run.hooks.some(({ afterCalls }) => afterCalls !== undefined);
  const first = isAsked ? await askAfterCalls(run, planned) : planned;
  const ending = first === undefined || isFinal(first) ? first : await askBeforeEnd(run, first);
  if (ending !== undefined && "waits" in ending.reason) return undone(run, ending);
  // Skips the look (the check for messages, cancellations and limits) if middleware decided to continue a run that would have ended.
  if (first === undefined || ending !== undefined)
    await takeLook(run, { planned: ending, retries: run.past?.isRetried(ending) === true });
  return undefined;
}

function undone({ past }: Run, ending: Ending): Ending {
  return past?.endUndone(ending) ?? ending;
}

async function suspend(run: Run, ending: Ending, hasEnded: boolean): Promise<Ending | undefined> {
  return run.durability === undefined ? ending : run.durability.suspend(run, ending, hasEnded);
}

/** Asks the middleware whether to continue instead of ending. */
async function endRun(run: Run, first: Ending): Promise<Ending | undefined> {
  const { planned } = run;
  // Middleware has already been asked whether a planned ending should stand. After a drain, it is asked here for the first time, because it
  // may end the run instead of suspending it.
  const isAsked = planned !== undefined || (isFinal(first) && first.reason.kind !== "drained");
  const ending = isAsked ? first : await askBeforeEnd(run, first);
  if (ending === undefined) return undefined;
  if (run.durability !== undefined) return run.durability.end(run, ending);
  shut(run, ending);
  return ending;
}

/** How many times middleware may continue a run instead of ending it. */
const maxAgains = 10;

/** Returns the journal place of the steps that `beforeEnd` records. */
export function endPlace(state: State): string {
  const { count } = state.lookAttempt;
  return `${placeOf(state)}/end${state.agains === 0 ? "" : `~${state.agains + 1}`}${count === 1 ? "" : `#${count}`}`;
}

interface AskedHooks {
  readonly said: Said | undefined;
  readonly spent: NestedSpending | undefined;
}

/**
 * Asks one kind of hook, one middleware after another, until `ask` returns a value. Counts what the hooks spend. A failed hook ends the
 * run.
 */
async function askHooks(
  run: Run,
  { kind, place }: { readonly kind: "afterCalls" | "beforeEnd"; readonly place: string },
  ask: (hooks: NamedHooks, at: HookRecorder) => Promise<Said | undefined>,
): Promise<AskedHooks> {
  const { state, journal } = run;
  const activity = new Activity(run, { place, path: place, journal });
  const askAll = async (): Promise<Said | undefined> => {
    for (const hooks of run.hooks) {
      if (hooks[kind] === undefined) continue;
      activity.hook = `${hooks.name}.${kind}`;
      const said = await ask(hooks, new HookRecorder(activity, hooks.name));
      if (said !== undefined) return said;
    }
    return undefined;
  };
  const failed = (thrown: unknown): Said => ({ ending: endingOfFailure(blame(thrown, activity.hook)) });
  const end = await activity.settle(activity.watched(askAll()).catch(failed));
  const spent = sumSpending(activity.spent);
  if (spent !== undefined) applyNested(state, spent);
  if ("value" in end) return { said: end.value, spent };
  return { said: { ending: waitFor(state, end.waits) }, spent };
}

/** After a message's calls, asks the middleware whether to end the run. Returns the ending, or undefined if the run continues. */
async function askAfterCalls(run: Run, planned: Ending | undefined): Promise<Ending | undefined> {
  const place = `${placeOf(run.state)}/after`;
  const { said } = await askHooks(run, { kind: "afterCalls", place }, async (hooks, at) => {
    const ending = await hooks.afterCalls?.(planned, at);
    return ending && { ending };
  });
  return said === undefined ? planned : said.ending;
}

async function askBeforeEnd(run: Run, first: Ending): Promise<Ending | undefined> {
  const { state, limits } = run;
  if (run.hooks.every(({ beforeEnd }) => beforeEnd === undefined)) return first;
  const place = endPlace(state);
  let ending = first;
  const { said = { ending }, spent } = await askHooks(run, { kind: "beforeEnd", place }, async (hooks, at) => {
    const answer = await hooks.beforeEnd?.(ending, at);
    if (answer === undefined) return undefined;
    if ("ending" in answer) ({ ending } = answer);
    else if (mayGoOn(state, ending, answer.isCounted === true ? limits.maxIterations : undefined)) return { ending, ...answer };
    return undefined;
  });
  if ("waits" in said.ending.reason) return said.ending;
  const record: AskedEnd = { phase: state.phase, planned: first, ...said, ...(spent !== undefined && { spent }) };
  const isChanged = "again" in record || record.ending !== first || spent !== undefined;
  const recorded = (await run.durability?.recordAsked(run, `${place}/ended`, { record, isChanged })) ?? record;
  if (!("again" in recorded)) return recorded.ending;
  applyAgain(state, recorded, recorded.ending);
  sendSteered(run);
  return undefined;
}

/**
 * True if middleware may continue with another iteration: neither `maxAgains` nor a limit forbids it. `maxIterations` is only given for an
 * iteration that counts.
 */
function mayGoOn({ agains, look, countedIterations }: State, { status }: Ending, maxIterations = none): boolean {
  if (status === "suspended" || countedIterations >= maxIterations || agains >= maxAgains) return false;
  return status === "completed" || look?.isExhausted !== true;
}

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

function summarizeCalls({ phase, lastBatch, current }: State, { status, calls }: Answer): readonly CallSummary[] {
  const open = status === "follow-up-interrupt" ? [...current.calls, ...calls] : current.calls;
  const ended = phase === "answer" ? endOpen(current, open) : lastBatch;
  return ended.map(({ call: { callId, name }, outcome: { kind }, isOpen }, index) => ({
    callId,
    name,
    index,
    outcome: isOpen === true || kind === "deferred" ? "waiting" : kind,
  }));
}

/** Returns the kind of the notice for a run that ended for this reason. */
function noticeOf(kind: Ending["reason"]["kind"]): "max-iterations" | "tool-error-cap" | "stream-timeout" | undefined {
  if (kind === "max-iterations" || kind === "tool-error-cap") return kind;
  return kind === "first-chunk" || kind === "stream-idle" || kind === "stream-too-long" ? "stream-timeout" : undefined;
}

/** Sends a run's end event, and returns its result. */
export function finish(run: Run, ending: Ending): LoopResult {
  if (ending.status !== "suspended") sendCutEnds(run);
  if (run.root === run) run.past?.endReplay();
  const result = buildResult(run, ending);
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const kind = noticeOf(ending.reason.kind);
  if (kind !== undefined && run.session.surfaceUserErrors !== false) run.send("notice", { kind });
  run.send("run-end", { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs });
  return result;
}

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
