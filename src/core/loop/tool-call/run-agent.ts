// Runs that are calls of another run.
// The journal says that such a run was started before it records a step of it: a replay starts only runs that are recorded.

import type { LoopResult } from "../../types/loop-result.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { isLoopError, LoopError } from "../../errors/loop-error.ts";
import { admitCall, executeToolCall, findQuestion, finishCall } from "./execute-tool-call.ts";
import { spendingOf, startNested } from "./nested-run.ts";
import type { Dispatched, Prepared, ReadyCall } from "../run/call.ts";
import type { Run, StartedRun } from "../run/run.ts";
import { isRecorded, runStep } from "../run/run-step.ts";
import { checkRecorded, sendToolEnd, sendToolStart } from "./replay-call.ts";
import type { NestedLoopOptions } from "../../types/loop-options.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { isRecord } from "../../utils/guards.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { validateCall } from "./prepare-call.ts";
import { wasDispatched } from "../../tools/render-outcome.ts";
import { askAgain, askHook } from "../run/ask-hook.ts";
import { prefixJournal, refuseBroken } from "../run/journal-call.ts";
import type { BegunRecord } from "./record-verdicts.ts";
import type { AgentCall } from "../run/run.ts";
import { callKey, type CallStep } from "../state/step-key.ts";

/** How the run inside the call ended, or why it could not go on. */
type NestedEnd = { readonly kind: "ended"; readonly result: LoopResult; readonly nested: Run } | Lost;

/** Runs one call as a nested run, or goes on with one. */
export async function runAgent(run: Run, agentCall: AgentCall): Promise<Dispatched> {
  const { call } = agentCall.ready;
  const begun = await beginAgent(run, agentCall);
  if (begun.kind === "must-ask") return begun.end;
  if (begun.kind === "over") return tell(run, call, begun.end);
  const end = begun.kind === "lost" ? begun : await drive(begun.started, begun.isOver);
  if (end.kind === "ended" && end.result.status === "suspended") {
    const { status, reason } = end.result;
    const outcome: ToolOutcome = { call, kind: "interrupted", ...factsOf(end, false) };
    return tell(run, call, { outcome, live: run.journal.replays === undefined, suspended: { status, reason } });
  }
  const body = (): Promise<ToolOutcome> => conclude(run, agentCall, end);
  const step = { key: keyOf(run, agentCall), kind: "tool" as const, input: inputOf(call), run: body };
  return runStep(step, run, (outcome, live) => tell(run, call, { outcome, live }));
}

/** What its journal throws ends the outer run as well. A run whose outcome is recorded may lack records of its own, or be another one by now. */
async function drive({ run, drive: driveNested }: StartedRun, isOver: boolean): Promise<NestedEnd> {
  try {
    return { kind: "ended", result: await driveNested(), nested: run };
  } catch (error) {
    if (isOver && isLoopError(error)) return { kind: "lost", error };
    throw error;
  }
}

function tell(run: Run, call: ToolCall, end: Dispatched): Dispatched {
  checkRecorded(call, end.outcome);
  sendToolEnd(run, end.outcome, end.live);
  return end;
}

/** Makes the call's outcome of the nested run's result, as if that were what a tool did. */
async function conclude(run: Run, { ready, agent }: AgentCall, end: NestedEnd): Promise<ToolOutcome> {
  if (end.kind === "lost" && end.refused !== undefined) return finishCall(run, end.refused);
  let isRead = false;
  const outcome = await executeToolCall(ready, run.ports, () => {
    if (end.kind !== "ended") throw end.error;
    isRead = true;
    return agent.toResult(end.result);
  });
  const settled: ToolOutcome = outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome;
  return finishCall(run, end.kind === "ended" ? { ...settled, ...factsOf(end, isRead) } : settled);
}

/** `isRead`: the tool itself was given the result. */
function factsOf(
  { result, nested }: Extract<NestedEnd, { kind: "ended" }>,
  isRead: boolean,
): Pick<ToolOutcome, "durationMs" | "nested" | "undelivered"> {
  const facts = { durationMs: result.durationMs, nested: spendingOf(result, nested) };
  const undelivered = result.undelivered.map(({ content }) => content);
  return isRead || undelivered.length === 0 ? facts : { ...facts, undelivered };
}

/** Why a run that was started before could not be started again: the error, or what refuses the call now. */
interface Lost {
  readonly kind: "lost";
  readonly error?: unknown;
  readonly refused?: ToolOutcome | undefined;
}

/** The run inside a call, or why there is none. */
type Begun =
  | { readonly kind: "begun"; readonly started: StartedRun; readonly isOver: boolean }
  | Lost
  | { readonly kind: "over"; readonly end: Dispatched }
  | { readonly kind: "must-ask"; readonly end: Dispatched };

/** Starts the run inside a call, or one that was started before. */
async function beginAgent(run: Run, agentCall: AgentCall): Promise<Begun> {
  const { call } = agentCall.ready;
  let live: StartedRun | undefined;
  let isTold = false;
  const body = async (): Promise<BegunRecord> => {
    // An engine that tries the step again starts the run again.
    live?.run.release();
    live = undefined;
    const turn = agentCall.awaitsTurn === true ? await takeTurn(run, agentCall) : agentCall;
    const mustAsk = mustAskFirst(run, turn);
    if (mustAsk !== undefined) return { kind: "must-ask", mustAsk };
    if (!isTold) sendToolStart(run, call, true);
    isTold = true;
    const begun = await tryBegin(run, turn);
    if (begun.kind === "over") return begun;
    live = begun.started;
    return { kind: "begun" };
  };
  const step = { key: stepKeyOf(run, "agent", agentCall), kind: "intent" as const, input: inputOf(call), run: body };
  try {
    const { record, isLive } = await runStep(step, run, (answer, wasMade) => ({ record: answer, isLive: wasMade }));
    if (record.kind === "must-ask") {
      const { mustAsk } = record;
      return { kind: "must-ask", end: { outcome: { call, durationMs: 0, kind: "not-run", mustAsk }, live: isLive } };
    }
    if (!isTold) sendToolStart(run, call, false);
    if (record.kind === "over") return { kind: "over", end: toEnd(run, record.outcome, isTold) };
    if (live !== undefined) return { kind: "begun", started: live, isOver: false };
  } catch (error) {
    live?.run.release();
    throw error;
  }
  return goOn(run, agentCall);
}

/** The call was taken for one that has begun, which it has not: it begins in its turn. */
async function takeTurn(run: Run, agentCall: AgentCall): Promise<AgentCall> {
  const scope = new CancelScope();
  const end = await agentCall.park({ scope, isDrained: false, mustEnd: () => false, suspend: () => {} });
  refuseBroken(run);
  return { ...agentCall, awaitsTurn: undefined, ...(end === "ended" ? { isBarred: true } : {}) };
}

/** What a step of a call takes in. */
function inputOf({ callId, name, args }: ToolCall): Pick<ToolCall, "callId" | "name" | "args"> {
  return { callId, name, args };
}

function toEnd(run: Run, outcome: ToolOutcome, live: boolean): Dispatched {
  if (!live && wasDispatched(outcome.kind)) run.meter.add({ toolCalls: 1 });
  return { outcome, live };
}

type Tried = Extract<BegunRecord, { kind: "over" }> | { readonly kind: "begun"; readonly started: StartedRun };

/** A question comes before anything is said of the call. */
function mustAskFirst(run: Run, { ready, isBarred, round }: AgentCall): ReadyCall["mustAsk"] {
  run.scope.checkDeadline(run.clock.now());
  return findQuestion(run, ready, { mayHaveRun: false, isBarred, round });
}

/** What is misuse in the options of its run is for the model to read. */
async function tryBegin(run: Run, agentCall: AgentCall): Promise<Tried> {
  const { ready, isBarred } = agentCall;
  const { mustAsk } = ready;
  const isCurrent = run.scope.cause !== undefined || isBarred === true || run.ports.isCurrent(ready.definition);
  const asked = isCurrent || mustAsk !== undefined ? ready : { ...ready, mustAsk: "again" as const };
  const admitted = await admitCall(run, asked, { mayHaveRun: false, isBarred });
  if (admitted.kind !== "ready") return { kind: "over", outcome: admitted };
  const tried = await tryStart(run, { ...agentCall, ready: admitted }, { ask: askHook, isOver: false });
  if (tried.kind === "begun") return tried;
  const outcome = await executeToolCall(ready, run.ports, () => {
    throw tried.error;
  });
  // It had begun, and how far `prepare` came nobody knows.
  return {
    kind: "over",
    outcome: await finishCall(run, outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome),
  };
}

/** `prepare` gets arguments that fit, or is not asked. */
function checkFit(run: Run, ready: ReadyCall): Prepared | Promise<Prepared> {
  if (ready.unfit !== undefined) return ready.unfit;
  return ready.unvalidated === true ? validateCall(ready, run.ports) : ready;
}

/** The run was started before: it goes on over its records. Where the call's outcome is among them, nothing new is done. */
async function goOn(run: Run, agentCall: AgentCall): Promise<Begun> {
  run.meter.add({ toolCalls: 1 });
  const ready = await checkFit(run, agentCall.ready);
  if (ready.kind !== "ready") return { kind: "lost", refused: ready };
  const isOver = await isRecorded(run, keyOf(run, agentCall));
  const tried = await tryStart(run, { ...agentCall, ready }, { ask: askAgain, isOver });
  return tried.kind === "begun" ? { ...tried, isOver } : tried;
}

/** The key of what the call gave, which the keys of its run start with. */
function keyOf(run: Run, agentCall: AgentCall): string {
  return stepKeyOf(run, "tool", agentCall);
}

function stepKeyOf({ state }: Run, step: CallStep, { ready, index, round }: AgentCall): string {
  return callKey(state, step, { index, name: ready.call.name, round });
}

interface Starting {
  readonly ask: typeof askHook;
  /** Whether the call's outcome is recorded. */
  readonly isOver: boolean;
}

type Start = { readonly kind: "begun"; readonly started: StartedRun } | Lost;

async function tryStart(run: Run, agentCall: AgentCall, { ask, isOver }: Starting): Promise<Start> {
  const { ready, agent, park, awaitsTurn } = agentCall;
  const { callId } = ready.call;
  if (run.depth + 1 >= run.maxDepth) {
    return { kind: "lost", error: new LoopError("depth-exceeded", { current: run.depth + 1, limit: run.maxDepth }) };
  }
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY }, run);
  run.scope.join(deadline);
  try {
    const context = run.ports.contextFor(ready.call, deadline);
    const asked = await ask(() => agent.prepare(ready.args, context), toOptions, run);
    if (asked.kind !== "value") return { kind: "lost", error: asked.kind === "failed" ? asked.thrown : undefined };
    const key = keyOf(run, agentCall);
    const journal = prefixJournal(run.journal, { prefix: `${key}/`, isOver });
    const own = { journal, runId: `${run.runId}/${key}`, resume: undefined };
    return { kind: "begun", started: startNested({ run, callId, isPart: true, park, awaitsTurn }, { ...asked.value, ...own }) };
  } catch (error) {
    return { kind: "lost", error };
  } finally {
    deadline.end();
    run.scope.leave(deadline);
  }
}

function toOptions(value: unknown): NestedLoopOptions {
  if (!isRecord(value)) throw new TypeError("The agent's prepare() gave no options for its run.");
  return value as unknown as NestedLoopOptions;
}
