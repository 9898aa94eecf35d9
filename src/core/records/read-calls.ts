// Reads a message's calls from the records: which have ended, and what the others are waiting for.

import type { Json, JsonSchema } from "../types/common.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { ShownTool, ToolCall, ToolChange, ToolOutcome, ToolQuestion } from "../types/tool-outcome.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { checkStepRecord } from "../loop/check-record.ts";
import { sendEnd, sendStart } from "../loop/perform-call.ts";
import { type Begun, type EndRecord, noteReplayed } from "../loop/durability/recorded-call.ts";
import { ReplayJournal } from "../loop/replay/replay-journal.ts";
import type { EagerOutcome } from "../loop/eager-tools.ts";
import { callPlace } from "../loop/journals.ts";
import { nest } from "../loop/nested/run-nested.ts";
import type { ReadRun } from "../loop/read-run.ts";
import type { Run, SeamOptions } from "../loop/run.ts";
import type { CurrentMessage, EndedCall, Outcome, State } from "../types/middleware.ts";
import { placeResults } from "../loop/state.ts";
import { toWaitingCall, waitsOf } from "../loop/durability/waiting-calls.ts";
import { concludeOutside, isOutsideResult } from "../../shared/to-outcome.ts";
import { applyNested } from "../../shared/count-usage.ts";
import { isRecord } from "../../shared/guards.ts";
import { findNested, type RecordedPlace } from "./recorded-places.ts";
import { readWaits, type RecordedWait } from "../loop/replay/read-waits.ts";
import { sendApproval } from "./send-approval.ts";

export type PendingCall = {
  /**
   * The key of this call in the `answers` option: the ids of the outer calls and this call's id, joined by "/". If the same
   * call waits again, the id ends with a number, as in `call_i0_0~2`. A call waits again, for example, if its tool has changed,
   * or if the call needs a result after it has waited for an approval.
   */
  readonly id: string;
  readonly callId: string;
  /** The position of the call in its assistant message, counted from 0. */
  readonly index: number;
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly args: Json;
} & (
  | {
      /**
       * The call is waiting for a decision. To resume the run, call `runToolLoop` with the same options and with `answers: { [id]:
       * decision }`.
       */
      readonly state: "awaiting-approval";
      /** The key that the run passes to the journal's `wait`, if the journal has this method, for example `wait/call_i0_0/1`. */
      readonly waitKey: string;
      /**
       * The tool that the decision is about. If the tool has changed when the run resumes, the run ignores the decision and
       * requests a new one.
       */
      readonly tool: ShownTool;
      /** How the tool changed after the previous request for a decision. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /**
       * The call has run, and its result comes from outside. To resume the run, call `runToolLoop` with the same options and with
       * `answers: { [id]: result }`.
       */
      readonly state: "awaiting-result";
      /** The key that the run passes to the journal's `wait`, if the journal has this method, for example `wait/call_i0_0/1`. */
      readonly waitKey: string;
      /** True if a web page may send the call's result. */
      readonly fromPage?: true | undefined;
      /** The question, if the tool asked one. The result is then the answer to the question, and the tool runs again. */
      readonly question?: ToolQuestion | undefined;
    }
  | {
      /**
       * A middleware or a durable tool is waiting with `wait(what, facts)`. To resume the run, call `runToolLoop` with the same options and
       * with `answers: { [id]: answer }`.
       */
      readonly state: "awaiting-answer";
      /** The key that the run passes to the journal's `wait`, if the journal has this method. */
      readonly waitKey: string;
      readonly what: string;
      readonly facts: Json;
      /** The schema of the answer, if it can be converted to JSON Schema. */
      readonly schema?: JsonSchema | undefined;
      /** The time after which the run answers the wait itself with null, in milliseconds since 1970. */
      readonly until?: number | undefined;
      /** True if a web page may send the answer. */
      readonly fromPage?: true | undefined;
      /** How the tool changed after the previous request for an answer. */
      readonly toolChanges?: readonly ToolChange[] | undefined;
    }
  | {
      /**
       * `may-have-run`: the call began, and is still running or was interrupted by a crash. `not-begun`: the call has no records.
       * `nested-run`: the call started a nested run that has not ended. The nested run's pending calls follow in the list.
       */
      readonly state: "may-have-run" | "not-begun" | "nested-run";
    }
);

/** The calls read so far from a run's newest message. */
interface Batch {
  readonly message: CurrentMessage;
  readonly ended: EndedCall[];
  readonly pending: (readonly PendingCall[] | undefined)[];
  /** Resolves when one of the calls is waiting. */
  readonly waiting: Promise<void>;
  readonly noteWaiting: () => void;
}

interface ReadingCall {
  readonly run: Run;
  readonly call: ToolCall;
  readonly index: number;
}

/** The records of one call. */
interface CallRecords {
  readonly ended: EndRecord | undefined;
  readonly begun: Begun | undefined;
  readonly outcome: Outcome | undefined;
  /** The approval policy's decision. */
  readonly decision: unknown;
  readonly waits: readonly RecordedWait[];
}

interface CallReaderPorts {
  /** False if the journal does not record when a call begins. */
  readonly durable: boolean;
  optionsOf(place: RecordedPlace): SeamOptions;
}

export class CallReader {
  readonly #ports: CallReaderPorts;
  /** Each run's newest batch of calls, by the prefix of the run's keys. */
  readonly #batches = new Map<string, Batch>();
  readonly #places = new Map<string, RecordedPlace>();

  constructor(ports: CallReaderPorts) {
    this.#ports = ports;
  }

  /** Returns the calls without an outcome, and puts the results of the others into the transcript. */
  conclude(prefix: string, { state, result }: ReadRun): readonly PendingCall[] {
    const batch = this.#batches.get(prefix);
    const isOver = result !== undefined && result.status !== "suspended";
    if (batch === undefined || batch.message !== state.current || isOver || !hasPending(state)) return [];
    if (state.phase === "answer") placeResults(state, batch.ended);
    const pending = batch.pending.flatMap((one) => one ?? []);
    // A journal that is not durable does not record that a call has begun, so a call without an outcome may have begun.
    return this.#ports.durable || result !== undefined ? pending : pending.map(toUnsure);
  }

  async read(place: RecordedPlace, reading: ReadingCall): Promise<EndedCall> {
    const { run, call, index } = reading;
    const own = this.#places.get(run.prefix) ?? place;
    const records = await readCall(own, reading);
    const outcome = outcomeOf(call, records);
    const batch = this.#batchOf(run);
    if (outcome === undefined) return this.#readOpen(own, reading, records);
    await this.#sendPast(own, reading, { records, outcome });
    const end = { call, outcome, waits: [] };
    batch.ended.push(end);
    if (records.ended?.spent !== undefined) applyNested(run.state, records.ended.spent);
    batch.pending[index] = undefined;
    return end;
  }

  #batchOf({ prefix, state: { current } }: Run): Batch {
    let batch = this.#batches.get(prefix);
    if (batch?.message !== current) {
      let noteWaiting = (): void => {};
      const waiting = new Promise<void>((resolve) => (noteWaiting = resolve));
      batch = { message: current, ended: [], pending: [], waiting, noteWaiting };
      this.#batches.set(prefix, batch);
    }
    return batch;
  }

  /** Reads a call that has not ended, because it is waiting, is running or has not begun. */
  async #readOpen(place: RecordedPlace, reading: ReadingCall, records: CallRecords): Promise<EndedCall> {
    const { run, call, index } = reading;
    const hasBegun = sendBegun(run, call, records);
    const inner = await this.#readNested(place, reading);
    const open = records.waits.filter(({ answer }) => answer === undefined);
    const waits = [...open, ...inner.flatMap(({ result }) => (result === undefined ? [] : waitsOf(result)))];
    const isDrained = inner.some(({ result }) => result?.reason.kind === "drained");
    const isWaiting = waits.length > 0 || isDrained;
    const state = inner.length > 0 ? "nested-run" : hasBegun ? "may-have-run" : "not-begun";
    const batch = this.#batchOf(run);
    const own = toPending(reading, { open, path: place.path, state });
    batch.pending[index] = [...own, ...inner.flatMap(({ pending }) => pending)];
    if (!isWaiting || isRunning(records, inner)) await stick(reading, state === "not-begun" ? batch.waiting : undefined);
    if (isWaiting) batch.noteWaiting();
    for (const { result } of inner) if (result !== undefined) applyNested(run.state, result);
    const left: ToolOutcome = { call, durationMs: 0, kind: hasBegun ? "interrupted" : "not-run" };
    return { call, outcome: left, waits, isDrained };
  }

  /** Sends the events for a call that has ended. */
  async #sendPast(
    place: RecordedPlace,
    reading: ReadingCall,
    { records, outcome }: { readonly records: CallRecords; readonly outcome: Outcome },
  ): Promise<void> {
    const { run, call } = reading;
    if (!run.events.wants("tool-end")) return;
    sendApproval(run, call, { ...records, ended: outcome });
    const made = records.outcome ?? outcome;
    noteReplayed(run, made);
    await this.#readNested(place, reading);
    if (made.kind === "deferred") sendEnd(run, made, true);
    sendEnd(run, outcome, true);
  }

  async #readNested(place: RecordedPlace, { run, call, index }: ReadingCall): Promise<readonly NestedEnd[]> {
    const own = callPlace(run.state, index, call.name);
    const found = await findNested(place, `${own}/`, call.callId);
    return Promise.all(
      found.map(async ({ name, place: inner }): Promise<NestedEnd> => {
        const replay = new ReplayJournal(run.journal);
        this.#places.set(inner.prefix, inner);
        const options = this.#ports.optionsOf(inner);
        const path = inner.path.slice(run.path.length, -1);
        const nesting = { key: `${own}/${name}`, path, callId: call.callId, journal: replay };
        const result = await Promise.race([
          nest(run, { ...options, messages: inner.first.messages }, nesting),
          replay.stuck.then(() => undefined),
        ]);
        const batch = this.#batches.get(inner.prefix);
        const isOver = result !== undefined && result.status !== "suspended";
        return { result, pending: isOver ? [] : (batch?.pending ?? []).flatMap((one) => one ?? []) };
      }),
    );
  }
}

function toUnsure(call: PendingCall): PendingCall {
  return call.state === "not-begun" ? { ...call, state: "may-have-run" } : call;
}

interface NestedEnd {
  /** The run's result. Undefined if the run's next step is not recorded. */
  readonly result: LoopResult | undefined;
  readonly pending: readonly PendingCall[];
}

/** Sends the events for a call that has not ended. Returns true if the call has begun. */
function sendBegun(run: Run, call: ToolCall, records: CallRecords): boolean {
  const { begun, outcome } = records;
  const hasBegun = begun !== undefined || outcome !== undefined;
  sendApproval(run, call, records);
  if (hasBegun) sendStart(run, call, true);
  if (outcome !== undefined) sendEnd(run, outcome, true);
  return hasBegun;
}

function isRunning({ begun, outcome }: CallRecords, inner: readonly NestedEnd[]): boolean {
  const isPlain = begun !== undefined && begun.durable !== true;
  return (isPlain && outcome === undefined) || inner.some(({ result }) => result === undefined);
}

/** Stops reading at a step that is not recorded. `waiting` resolves if a call that has not begun is held back by a waiting call. */
async function stick({ run, call, index }: ReadingCall, waiting: Promise<void> | undefined): Promise<void> {
  if (run.past?.isSettled === true) return;
  const never = (): never => {
    throw new Error("Nothing runs.");
  };
  const stuck = run.step<never>(`${callPlace(run.state, index, call.name)}/outcome/missing`, never);
  await (waiting === undefined ? stuck : Promise.race([stuck, waiting]));
}

/** True if the run may have open calls. False if it has continued after its calls, because they have then ended. */
function hasPending({ phase, waits, lastBatch }: State): boolean {
  return phase === "answer" || waits.length > 0 || lastBatch.some(({ isDrained }) => isDrained === true);
}

async function readCall({ records, prefix, path }: RecordedPlace, { run, call, index }: ReadingCall): Promise<CallRecords> {
  const place = callPlace(run.state, index, call.name);
  const outcomes: readonly EagerOutcome[] = run.state.current.early;
  const early = outcomes.find((one) => one.call.callId === call.callId)?.steps;
  const read = async <T>(name: string): Promise<T | undefined> => {
    const found = early?.[`/${name}`];
    if (found === undefined) return records.read<T>(`${prefix}${place}/${name}`);
    checkStepRecord(`${prefix}${place}/${name}`, found);
    return found as T;
  };
  const step = await read<{ readonly value?: unknown }>("@approve/decision");
  return {
    ended: await read<EndRecord>("ended"),
    begun: await read<Begun>("begun"),
    outcome: await read<Outcome>("outcome"),
    decision: step?.value,
    waits: await readWaits(records.read, path + call.callId),
  };
}

/** Returns the outcome of a call that has ended. */
function outcomeOf(call: ToolCall, { ended, begun, outcome, waits }: CallRecords): Outcome | undefined {
  if (ended !== undefined) {
    const { spent: _, ...end } = ended;
    return end;
  }
  if (begun?.refused !== undefined) return begun.refused;
  if (outcome === undefined) return undefined;
  if (outcome.kind === "deferred") return concludeDeferred(call, outcome, waits);
  // An ordinary tool cannot wait. So an open wait in its call belongs to middleware that runs after the tool, and the call has not ended. A
  // durable tool's call can end with open waits.
  if (begun?.durable !== true && waits.some(({ answer }) => answer === undefined)) return undefined;
  return outcome;
}

function concludeDeferred(call: ToolCall, outcome: Outcome, waits: readonly RecordedWait[]): Outcome | undefined {
  const wait = waits.findLast(({ what, answer }) => what === "result" && answer !== undefined);
  if (wait?.answer === undefined) return undefined;
  const { value } = wait.answer;
  if (!isOutsideResult(value)) throw damaged(`${wait.key}/answer`, 'has an invalid "value"');
  const { durationMs, approvedArgs } = outcome;
  return { call, durationMs, ...(approvedArgs !== undefined && { approvedArgs }), ...concludeOutside(value) };
}

function damaged(key: string, problem: string): LoopError<"journal-damaged"> {
  return new LoopError("journal-damaged", { key, problem });
}

interface OpenCall {
  readonly open: readonly RecordedWait[];
  /** The prefix of the call's wait ids. */
  readonly path: string;
  readonly state: "may-have-run" | "not-begun" | "nested-run";
}

function toPending(
  { call: { callId, name, args }, index }: ReadingCall,
  { open, path, state }: OpenCall,
): readonly PendingCall[] {
  const base = { callId, index, name, args };
  if (open.length === 0 || state === "nested-run")
    return [{ id: path + callId, ...base, state }, ...open.map((wait) => toWaiting(base, wait))];
  return open.map((wait) => toWaiting(base, wait));
}

function toWaiting(base: Pick<PendingCall, "callId" | "index" | "name" | "args">, wait: RecordedWait): PendingCall {
  const { id, key: waitKey, facts, what, call } = wait;
  const { waitsFor, args: _, name: _name, callId: _callId, ...shown } = toWaitingCall(wait);
  const { fromPage, question, toolChanges } = shown;
  if (waitsFor === "answer")
    return { ...base, ...shown, args: call?.args ?? base.args, state: "awaiting-answer", waitKey, what, facts };
  if (what !== "approval")
    return { id, ...base, state: "awaiting-result", waitKey, ...(fromPage && { fromPage }), ...(question && { question }) };
  const tool = isRecord(facts) ? facts["tool"] : undefined;
  if (!isRecord(tool)) throw damaged(`${waitKey}/asked`, 'has an invalid "facts"');
  return {
    id,
    ...base,
    state: "awaiting-approval",
    waitKey,
    tool: tool as unknown as ShownTool,
    ...(toolChanges && { toolChanges }),
  };
}
