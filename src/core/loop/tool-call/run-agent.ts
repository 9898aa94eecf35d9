// Executes tool calls as nested runs. The journal records the start of a nested run before any of its steps, so that a replay
// starts only recorded runs.

import type { LoopResult } from "../../types/loop-result.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { isLoopError, LoopError } from "../../errors/loop-error.ts";
import { admitCall, executeToolCall, findNeededDecision, finishCall } from "./execute-tool-call.ts";
import { spendingOf, startNested } from "./tool-context.ts";
import type { ReadyCall } from "../run/call.ts";
import { type BatchCall, eventBase, readyOf, type Run, type StartedRun } from "../run/run.ts";
import { batchKey, end, leaveOpen } from "./batch.ts";
import { isRecorded, runStep } from "../run/run-step.ts";
import { checkRecorded, sendToolEnd, sendToolStart } from "./call-ports.ts";
import type { NestedLoopOptions } from "../../types/loop-options.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { isRecord } from "../../utils/guards.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { validateCall } from "./prepare-call.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import { askAgain, askHook } from "../run/ask-hook.ts";
import { prefixJournal, refuseBroken } from "../run/journal-call.ts";
import type { BegunRecord } from "./record-verdicts.ts";

type NestedEnd = { readonly kind: "ended"; readonly result: LoopResult; readonly nested: Run } | Lost;

export async function runAgent(run: Run, one: BatchCall): Promise<void> {
  const { call } = one;
  const begun = await beginAgent(run, one);
  if (begun.kind === "must-ask") {
    leaveOpen(one, begun.mustAsk);
    return;
  }
  if (begun.kind === "over") {
    takeOutcome(run, one, begun);
    return;
  }
  const nestedEnd = begun.kind === "lost" ? begun : await drive(begun.started, begun.isOver);
  if (nestedEnd.kind === "ended" && nestedEnd.result.status === "suspended") {
    const { status, reason } = nestedEnd.result;
    const outcome: ToolOutcome = { call, kind: "interrupted", ...factsOf(nestedEnd, false) };
    takeOutcome(run, one, { outcome, isLive: run.journal.replays === undefined });
    one.suspended = { status, reason };
    return;
  }
  const body = (): Promise<ToolOutcome> => concludeAgent(run, one, nestedEnd);
  const step = { key: outcomeKey(run, one), kind: "tool" as const, input: inputOf(call), run: body };
  await runStep(step, run, (outcome, isLive) => takeOutcome(run, one, { outcome, isLive }));
}

/**
 * Runs the nested run. An error from the journal of the nested run also ends the outer run. If the outcome of the call is
 * already recorded, each LoopError is ignored, because the records of the nested run may be incomplete or belong to another run.
 */
async function drive({ run, drive: driveNested }: StartedRun, isOver: boolean): Promise<NestedEnd> {
  try {
    return { kind: "ended", result: await driveNested(), nested: run };
  } catch (error) {
    if (isOver && isLoopError(error)) return { kind: "lost", error };
    throw error;
  }
}

function takeOutcome(run: Run, one: BatchCall, { outcome, isLive }: { outcome: ToolOutcome; isLive: boolean }): void {
  checkRecorded(one.call, outcome);
  sendToolEnd(run, outcome, isLive);
  end(one, outcome, isLive);
}

async function concludeAgent(run: Run, one: BatchCall, ended: NestedEnd): Promise<ToolOutcome> {
  if (ended.kind === "lost" && ended.refused !== undefined) return finishCall(run, ended.refused);
  let isRead = false;
  const execute = (): unknown => {
    if (ended.kind !== "ended") throw ended.error;
    isRead = one.agent?.hasReader === true;
    return one.agent?.toResult(ended.result);
  };
  const outcome = await executeToolCall({ ...readyOf(one), execute }, run.ports);
  const settled: ToolOutcome = outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome;
  return finishCall(run, ended.kind === "ended" ? { ...settled, ...factsOf(ended, isRead) } : settled);
}

function factsOf(
  { result, nested }: Extract<NestedEnd, { kind: "ended" }>,
  isRead: boolean,
): Pick<ToolOutcome, "durationMs" | "nested" | "undelivered"> {
  const facts = { durationMs: result.durationMs, nested: spendingOf(result, nested) };
  const { reason } = result;
  const interrupting = reason.kind === "interrupted" ? [reason.message] : [];
  const undelivered = [...interrupting, ...result.undelivered].map(({ content }) => content);
  return isRead || undelivered.length === 0 ? facts : { ...facts, undelivered };
}

interface Lost {
  readonly kind: "lost";
  readonly error?: unknown;
  readonly refused?: ToolOutcome | undefined;
}

type Begun =
  | { readonly kind: "begun"; readonly started: StartedRun; readonly isOver: boolean }
  | Lost
  | { readonly kind: "over"; readonly outcome: ToolOutcome; readonly isLive: boolean }
  | Extract<BegunRecord, { kind: "must-ask" }>;

async function beginAgent(run: Run, one: BatchCall): Promise<Begun> {
  const { call } = one;
  let live: StartedRun | undefined;
  let isLive = false;
  let hasStarted = false;
  const start = (): void => {
    if (!hasStarted) sendToolStart(run, call, isLive);
    hasStarted = true;
  };
  const body = async (): Promise<BegunRecord> => {
    // If an engine retries this step, the nested run starts again, so the nested run of the previous try is released.
    live?.run.release();
    live = undefined;
    if (one.awaitsTurn) await takeTurn(run, one);
    run.scope.checkDeadline(run.clock.now());
    // A decision must be requested before any event of the call is emitted.
    const mustAsk = findNeededDecision(run, one);
    if (mustAsk !== undefined) return { kind: "must-ask", mustAsk };
    isLive = true;
    const begun = await tryBegin(run, one, start);
    if (begun.kind === "over") return begun;
    live = begun.started;
    return { kind: "begun" };
  };
  const step = { key: batchKey(run, "agent", one), kind: "intent" as const, input: inputOf(call), run: body };
  try {
    const record = await runStep(step, run, (answer) => answer);
    if (record.kind === "must-ask") return record;
    if (record.kind === "begun" || wasDispatched(record.outcome.kind)) start();
    if (record.kind === "over") {
      if (!isLive && wasDispatched(record.outcome.kind)) run.meter.add({ toolCalls: 1 });
      return { ...record, isLive };
    }
    if (live !== undefined) return { kind: "begun", started: live, isOver: false };
  } catch (error) {
    live?.run.release();
    throw error;
  }
  return goOn(run, one);
}

/**
 * Waits until the other calls of the batch have replayed their records. Without `journal.has`, calls that have no records begin
 * together with the recorded calls, and then wait here.
 */
async function takeTurn(run: Run, one: BatchCall): Promise<void> {
  const scope = new CancelScope();
  const parked = await one.park?.({ scope, isDrained: false, mustEnd: () => false, suspend: () => {} });
  refuseBroken(run);
  one.awaitsTurn = false;
  one.isBarred ||= parked === "ended";
}

function inputOf({ callId, name, args }: ToolCall): Pick<ToolCall, "callId" | "name" | "args"> {
  return { callId, name, args };
}

type Tried = Extract<BegunRecord, { kind: "over" }> | { readonly kind: "begun"; readonly started: StartedRun };

/** Calls `start` directly before `prepare`. */
async function tryBegin(run: Run, one: BatchCall, start: () => void): Promise<Tried> {
  const ready = readyOf(one);
  const admitted = await admitCall(run, one);
  if (admitted.kind !== "ready") return { kind: "over", outcome: admitted };
  start();
  const tried = await tryStart(run, one, { ready: admitted, ask: askHook, isOver: false });
  if (tried.kind === "begun") return tried;
  const execute = (): never => {
    throw tried.error;
  };
  const outcome = await executeToolCall({ ...ready, execute }, run.ports);
  // The outcome must not be "not-run", because `prepare` may have had effects.
  return {
    kind: "over",
    outcome: await finishCall(run, outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome),
  };
}

/** Validates the arguments if needed, so that `prepare` never gets invalid arguments. */
function checkFit(run: Run, ready: ReadyCall): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  if (ready.unfit !== undefined) return ready.unfit;
  return ready.unvalidated === true ? validateCall(ready, run.ports) : ready;
}

/** Continues a nested run that has records. If the outcome of the call is recorded, no new work is done. */
async function goOn(run: Run, one: BatchCall): Promise<Begun> {
  run.meter.add({ toolCalls: 1 });
  const ready = await checkFit(run, readyOf(one));
  if (ready.kind !== "ready") return { kind: "lost", refused: ready };
  const isOver = await isRecorded(run, outcomeKey(run, one));
  const tried = await tryStart(run, one, { ready, ask: askAgain, isOver });
  return tried.kind === "begun" ? { ...tried, isOver } : tried;
}

/** The keys of the nested run's steps begin with this key. */
function outcomeKey(run: Run, one: BatchCall): string {
  return batchKey(run, "tool", one);
}

interface Starting {
  readonly ready: ReadyCall;
  readonly ask: typeof askHook;
  readonly isOver: boolean;
}

type Start = { readonly kind: "begun"; readonly started: StartedRun } | Lost;

async function tryStart(run: Run, one: BatchCall, { ready, ask, isOver }: Starting): Promise<Start> {
  const { call, agent, park, awaitsTurn } = one;
  const { callId } = call;
  if (run.depth + 1 >= run.maxDepth) {
    return { kind: "lost", error: new LoopError("depth-exceeded", { current: run.depth + 1, limit: run.maxDepth }) };
  }
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY }, run);
  run.scope.join(deadline);
  try {
    const context = run.ports.contextFor(call, deadline);
    const asked = await ask(() => agent?.prepare(ready.args, context), toOptions, run);
    if (asked.kind !== "value") return { kind: "lost", error: asked.kind === "failed" ? asked.thrown : undefined };
    const key = outcomeKey(run, one);
    const journal = prefixJournal(run.journal, { prefix: `${key}/`, isOver });
    const own = { journal, runId: `${run.runId}/${key}`, resume: undefined };
    const place = { ...eventBase(run), callId, name: call.name, index: run.ports.indexOf(callId) };
    const tap = agent?.createTap?.((part) => run.events.send({ type: "tool-emit", ...place, part }));
    return {
      kind: "begun",
      started: startNested({ run, callId, sharesJournal: true, park, awaitsTurn, tap }, { ...asked.value, ...own }),
    };
  } catch (error) {
    return { kind: "lost", error };
  } finally {
    deadline.end();
    run.scope.leave(deadline);
  }
}

function toOptions(value: unknown): NestedLoopOptions {
  if (!isRecord(value))
    throw new TypeError("prepare() of an agent tool must return the options of the nested run, as an object.");
  return value as unknown as NestedLoopOptions;
}
