// The loop: decides what comes next, does it, applies the result, until the run ends. Every effect is a step of the journal.

import type { Message } from "../types/message.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Json } from "../types/common.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { LoopError } from "../errors/loop-error.ts";
import { digest, isSameJson, stableJson } from "../utils/json.ts";
import { buildResult } from "./build-result.ts";
import { performCall } from "./execute-tool-call.ts";
import { compareMiddleware, HookError, inHook, JournalFailure, recordingNames, StepCancelled } from "./hooks.ts";
import { findLimit, nextStep } from "./next-step.ts";
import { Activity, StepRecorder } from "./recorder.ts";
import { runCalls } from "./run-calls.ts";
import { runIteration, placeOf } from "./run-iteration.ts";
import { Run, type RunPorts, type SeamOptions } from "./run.ts";
import type { Ending } from "./seam.ts";
import { applyAgain } from "./state.ts";
import { lookKey, see, takeLook } from "./take-look.ts";

/** Runs a model and its tools until there is an answer, a limit is reached, or the caller ends the run. */
export async function runToolLoop(options: SeamOptions, ports?: Pick<RunPorts, "queue">): Promise<LoopResult> {
  return drive(new Run(options, { ...ports, drive, perform: performCall }));
}

async function drive(run: Run): Promise<LoopResult> {
  const { state, guard } = run;
  let close: (() => PromiseLike<void>) | undefined;
  try {
    const { journal } = run.options;
    if (guard !== undefined && journal?.open !== undefined) {
      const open = journal.open.bind(journal);
      close = await guard.ask("open", undefined, open);
    }
    await beginRun(run);
    sendStart(run);
    for (;;) {
      const next = nextStep(state, run.hooks);
      if (next.kind !== "calls") sendIterationEnd(run);
      if (next.kind === "look") await takeLook(run, { planned: next.planned });
      else if (next.kind === "request") await runIteration(run);
      else if (next.kind === "calls") await runCalls(run);
      else {
        const ending = await endRun(run, next.ending);
        if (ending === undefined) continue;
        if (close !== undefined) await guard?.ask("close", undefined, close);
        close = undefined;
        return finish(run, ending);
      }
      if (state.waits.length > 0 && next.kind === "request") return finish(run, waiting(run));
    }
  } catch (error) {
    breakRun(run, error);
    if (close !== undefined) await Promise.resolve(close()).catch(() => {});
    throw error instanceof JournalFailure && run.outer === undefined ? withPartial(run, error.cause) : error;
  } finally {
    run.release();
  }
}

function waiting({ state: { waits } }: Run): Ending {
  return { status: "suspended", reason: { kind: "waiting", waits } };
}

/** Cancels everything that may still run after an error, such as a failed journal. */
function breakRun(run: Run, error: unknown): void {
  run.events.fail(error instanceof JournalFailure ? error.cause : error);
  run.scope.cancel({ kind: "abort", reason: error });
}

interface FirstRecord {
  readonly version: number;
  readonly runId?: string | undefined;
  readonly messages: readonly Message[];
  readonly messagesDigest: string;
  readonly middleware: readonly string[];
}

const recordVersion = 4;

/** Records what identifies the run, or compares it with the record. */
async function beginRun(run: Run): Promise<void> {
  const { options, state } = run;
  const middleware = recordingNames(options.middleware ?? []);
  const messagesDigest = digest(stableJson(state.messages));
  const now: FirstRecord = {
    version: recordVersion,
    ...(options.runId !== undefined && { runId: options.runId }),
    messages: [...state.messages],
    messagesDigest,
    middleware,
  };
  const first = await run.step<FirstRecord>("run", () => now);
  for (const field of ["version", "runId", "messagesDigest"] as const) {
    if (field === "runId" && (first.runId === undefined || now.runId === undefined)) continue;
    if (first[field] !== now[field])
      throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(first[field]) });
  }
  compareMiddleware(first.middleware, middleware);
  if (run.root === run) await checkAnswers(run);
}

/** An answer that nothing waits for is refused before anything runs. */
async function checkAnswers(run: Run): Promise<void> {
  for (const id of run.answerIds) {
    const asked = await run.journal.read(`wait/${id}/1/asked`);
    if (asked === undefined) throw new LoopError("unknown-decision", { call: id });
    const given = (await run.journal.read(`wait/${id}/1/answer`)) as { readonly value: Json } | undefined;
    if (given !== undefined && !isSameJson(given.value, run.takeAnswer(id)?.value ?? null))
      throw new LoopError("unknown-decision", { call: id });
  }
}

/** Asks the middleware whether to go on instead. Returns undefined if the run goes on. */
async function endRun(run: Run, first: Ending): Promise<Ending | undefined> {
  const isFinal = first.status === "suspended" || first.status === "stopped-by-user" || first.status === "follow-up-interrupt";
  const ending = isFinal ? first : await askBeforeEnd(run, first);
  if (ending === undefined || "waits" in ending.reason) return ending;
  const { token } = await run.step<{ readonly token: string }>(`${lookKey(run)}/over`, () => ({ token: run.token }));
  if (token === run.token) return ending;
  const goOn = await findContinuation(run, ending);
  if (goOn === undefined) return ending;
  run.lookAttempt = { ...run.lookAttempt, count: run.lookAttempt.count + 1 };
  await takeLook(run, goOn);
  return undefined;
}

/** An earlier execution ended here. Decides whether this one goes on. */
async function findContinuation(run: Run, ending: Ending): Promise<{ readonly retries?: boolean } | undefined> {
  const { state, limits, options, lookAttempt, journal, prefix } = run;
  const nextKey = prefix + lookKey({ lookAttempt: { ...lookAttempt, count: lookAttempt.count + 1 } } as Run);
  const recorded = (await journal.read(nextKey)) as { readonly retries?: true } | undefined;
  if (recorded !== undefined) return { retries: recorded.retries === true };
  if (ending.reason.kind === "drained") return {};
  if (limited.has(ending.reason.kind)) return findLimit(state, see(run), limits) === undefined ? {} : undefined;
  const mayRetry = ending.status === "error" || ending.status === "timeout" || ending.status === "stopped-by-user";
  return options.resume === "retry-last" && mayRetry && run.scope.cause === undefined ? { retries: true } : undefined;
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

async function askBeforeEnd(run: Run, first: Ending): Promise<Ending | undefined> {
  const { state } = run;
  const place = `${placeOf(state)}/end${state.agains === 0 ? "" : `~${state.agains + 1}`}`;
  const activity = new Activity(run, { place, path: place, journal: run.journal });
  const ask = async (): Promise<Ending | undefined> => {
    let ending = first;
    for (const { name, beforeEnd } of run.hooks) {
      if (beforeEnd === undefined) continue;
      const recorder = new StepRecorder(activity, `@${name}`, place);
      const said = await inHook(name, "beforeEnd", () => beforeEnd(ending, recorder));
      if (said === undefined) continue;
      if ("ending" in said) ending = said.ending;
      else if (state.agains < maxAgains) {
        applyAgain(state, said.again, ending);
        return undefined;
      }
    }
    return ending;
  };
  const failed = (error: unknown): Ending => {
    if (error instanceof HookError) return error.ending;
    if (error instanceof StepCancelled) return endingOfReason(run.scope.cause ?? { kind: "kill" });
    throw error;
  };
  const end = await activity.settle(ask().catch(failed));
  if ("value" in end) return end.value;
  state.waits = end.waits;
  return waiting(run);
}

function sendStart({ events, runId, options: { provider } }: Run): void {
  events.send({ type: "run-start", runId, iteration: 0, provider: provider.id, model: provider.model });
}

function sendIterationEnd(run: Run): void {
  const { state, events, runId } = run;
  const answer = state.answers.at(-1);
  if (answer === undefined || state.phase === "look" || state.phase === "again" || !events.wants("iteration-end")) return;
  const { status, provider, model, finish, usage, costUSD, durationMs } = answer;
  const calls = state.lastBatch.map(({ call: { callId, name }, outcome, waits }, index) => ({
    callId,
    name,
    index,
    outcome: waits.length > 0 ? ("waiting" as const) : outcome.kind,
  }));
  const base = { runId, iteration: state.iteration, ...(run.isReplayed && { replayed: true }), continuation: state.continuation };
  events.send({ type: "iteration-end", ...base, status, provider, model, finish, usage, costUSD, calls, durationMs });
}

function finish(run: Run, ending: Ending): LoopResult {
  const result = buildResult(run, ending);
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const { events, runId, state } = run;
  events.send({
    type: "run-end",
    runId,
    iteration: state.iteration,
    status,
    reason,
    usage,
    costUSD,
    iterations,
    toolCallsExecuted,
    durationMs,
  });
  return result;
}

/** Adds the result so far to the error of a journal. */
function withPartial(run: Run, error: unknown): unknown {
  const { state, runId } = run;
  const partial = {
    runId,
    text: state.finalText.trim(),
    messages: [...state.messages],
    usage: state.usage,
    costUSD: state.costUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
  };
  if (!(error instanceof Error)) return error;
  const details: unknown = Reflect.get(error, "details") ?? {};
  if (typeof details === "object" && details !== null)
    Object.defineProperty(details, "partial", { value: partial, configurable: true });
  if (!Object.hasOwn(error, "details")) Object.defineProperty(error, "details", { value: details, configurable: true });
  return error;
}
