// A loop whose runs any worker can execute, stop and show.

import { DBOS } from "@dbos-inc/dbos-sdk";
import {
  type CallDecision,
  checkFields,
  checkRequired,
  copyUserMessage,
  type Checks,
  describeValue,
  invalidOption,
  is,
  isApproval,
  isOutsideResult,
  isPlainData,
  isFilled,
  type Json,
  LoopError,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  runToolLoop,
  type StopRequest,
  toJson,
  type UserMessage,
} from "../core/entry-kit.ts";
import { createLoopControl } from "../core/index.ts";
import { createEmitter } from "../host/execution-events.ts";
import type { PendingCall } from "../journal/inspect/records.ts";
import { inspectJournal, type JournalInspection } from "../journal/inspect/inspect-journal.ts";
import { createDbosJournal, readDbosJournal, type StepHooks } from "./dbos-journal.ts";
import { EventWriter } from "./event-writer.ts";
import { type LiveRun, queueName, type WorkerProcess, workerHere } from "./worker.ts";

/** The options that the durable loop sets itself. */
export type DurableOwnOptions = "runId" | "journal" | "events" | "control" | "decisions" | "resume";

/** The definition of a durable loop. */
export interface DurableLoopFields<Input> {
  /** The name of the loop. Keep it while runs are under way, because their records contain it. */
  readonly name: string;
  /**
   * Returns the options of a run. Called each time a worker begins to execute the run, and when its status is read. Must return the
   * same messages for the same input.
   */
  readonly options: (input: Input) => Omit<LoopOptions, DurableOwnOptions> | PromiseLike<Omit<LoopOptions, DurableOwnOptions>>;
}

/** The result of a durable run, as plain data. */
export type DurableResult = Pick<
  LoopResult,
  | "status"
  | "reason"
  | "text"
  | "messages"
  | "usage"
  | "costUSD"
  | "iterations"
  | "toolCallsExecuted"
  | "durationMs"
  | "error"
  | "output"
  | "undelivered"
  | "runId"
>;

/** An event of a run, with its position in the run. */
export interface DurableEvent {
  /** The position, counted from 0. Pass the next position as `from` to continue reading. */
  readonly seq: number;
  readonly event: LoopEvent;
}

/** A loop whose runs any worker can execute. All methods work in every worker. */
export interface DurableLoop<Input> {
  /** Starts a run. Does nothing if the run exists already. `id` is its run id, unique among all loops. */
  start(id: string, input: Input): Promise<void>;
  /** Waits for the end of a run. Rejects with an error of `runToolLoop`, for example for invalid options. */
  result(id: string): Promise<DurableResult>;
  /**
   * Continues a run whose `result` rejected, for example after a fixed deployment. Its records stay. Rejects with an error of DBOS
   * if the run has not ended.
   */
  retry(id: string): Promise<void>;
  /** Returns the state of a run. Undefined if the run does not exist. */
  status(id: string): Promise<JournalInspection | undefined>;
  /** Ends a run as `stopped`: the model is cut off, and running tools get `timeouts.settleMs` to finish. */
  stop(id: string, request?: StopRequest): Promise<void>;
  /** Ends a run immediately, as `killed`. */
  kill(id: string): Promise<void>;
  /** Adds a message before the next iteration of a run. */
  steer(id: string, message: string | UserMessage): Promise<void>;
  /**
   * Sends a decision or a result to a waiting call. `callId` is the `id` of a call in `pendingCalls` of the status. Rejects with
   * LoopError "unknown-decision" if the call does not wait, or "invalid-decision" if the decision does not fit.
   */
  decide(id: string, callId: string, decision: CallDecision): Promise<void>;
  /**
   * Yields the events of a run, in order and without gaps, until the run has ended. Returns after `run-end`. If a worker died while
   * a model was streaming, `attempt-discarded` says that the deltas of the iteration are replaced by new ones.
   */
  events(id: string, options?: { readonly from?: number | undefined }): AsyncGenerator<DurableEvent, void, undefined>;
}

const fieldChecks: Checks<DurableLoopFields<never>> = { name: is.text, options: is.fn };

/**
 * Defines a loop whose runs survive their workers. A run is a DBOS workflow: its steps are recorded in Postgres, and if its worker
 * dies, another worker continues it. Define the loop in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid.
 *
 * @example
 * const support = defineDurableLoop({
 *   name: "support",
 *   options: ({ question }: { question: string }) => ({ provider, tools, messages: [{ role: "user", content: question }] }),
 * });
 * await launchWorker({ databaseUrl });
 * await support.start("ticket-7", { question: "Where is my order?" });
 * const { text } = await support.result("ticket-7");
 */
export function defineDurableLoop<Input extends Json>(fields: DurableLoopFields<Input>): DurableLoop<Input> {
  checkFields("fields", fields, fieldChecks);
  checkRequired(fields, fieldChecks, ["name", "options"]);
  const { name, options } = fields;
  const optionsOf = async (text: string): Promise<Omit<LoopOptions, DurableOwnOptions>> => options(JSON.parse(text) as Input);
  const workflow = DBOS.registerWorkflow(
    async (text: string): Promise<string> => {
      const end = await executeDurableRun(await optionsOf(text), workerHere());
      // An abandoned execution must not end its workflow, because another execution continues it.
      return end ?? new Promise(() => {});
    },
    { name: `turnwright ${name}` },
  );
  const inspect = async (id: string): Promise<JournalInspection | undefined> => {
    const [found] = await DBOS.listWorkflows({ workflowIDs: [id], loadInput: true });
    if (found === undefined) return undefined;
    const { messages } = await optionsOf(String(found.input?.[0]));
    return inspectJournal(readDbosJournal(id, messages));
  };
  return {
    async start(id, input) {
      if (!isFilled(id) || id.includes("\0")) throw invalidOption("id", "a string that is not empty, without NUL characters", id);
      if (!isPlainData(input)) throw invalidOption("input", "plain data that JSON can represent", input);
      await DBOS.startWorkflow(workflow, { workflowID: id, queueName })(JSON.stringify(input));
    },
    async result(id) {
      const end = await DBOS.retrieveWorkflow<string>(id).getResult({ pollingIntervalMs: 100 });
      const state = await inspect(id);
      const facts = JSON.parse(end) as Omit<DurableResult, "messages">;
      return { ...facts, messages: state?.messages ?? [] };
    },
    retry: retryRun,
    status: inspect,
    stop: stopRun,
    kill: (id) => workerHere().store.send(id, { verb: "kill" }),
    steer: steerRun,
    async decide(id, callId, decision) {
      const pending = (await inspect(id))?.pendingCalls ?? [];
      const call = pending.find((one) => one.id === callId);
      if (call === undefined || !("waitKey" in call)) {
        const waiting = pending.filter((one) => "waitKey" in one).map((one) => one.id);
        throw new LoopError("unknown-decision", { call: callId, ...(waiting.length === 0 ? {} : { waiting }) });
      }
      checkDecision(call, decision);
      await workerHere().store.send(id, { verb: "decide", key: call.waitKey, decision: toJson(decision) });
    },
    events(id, { from = 0 } = {}) {
      if (!Number.isSafeInteger(from) || from < 0) throw invalidOption("from", "a whole number of at least 0", from);
      return readEvents(workerHere(), id, from);
    },
  };
}

/** Continues a failed run after its last record. */
async function retryRun(id: string): Promise<void> {
  const steps = (await DBOS.listWorkflowSteps(id)) ?? [];
  const startStep = Math.max(-1, ...steps.map(({ functionID }) => functionID)) + 1;
  await DBOS.rewindWorkflow(id, { startStep, queueName });
}

async function stopRun(id: string, request?: StopRequest): Promise<void> {
  checkFields("request", request ?? {}, { requester: is.text, note: is.text });
  await workerHere().store.send(id, { verb: "stop", request });
}

async function steerRun(id: string, message: string | UserMessage): Promise<void> {
  const isFit = typeof message === "string" ? message.trim() !== "" : copyUserMessage(message) !== undefined;
  if (!isFit) throw invalidOption("message", "a text that is not blank, or a user message", message);
  await workerHere().store.send(id, { verb: "steer", message });
}

/** Throws LoopError "invalid-decision" if the decision does not fit the waiting call. Otherwise, the run would deny the call. */
function checkDecision({ id, state }: PendingCall, decision: unknown): void {
  const waitsFor = state === "awaiting-result" ? "result" : "approval";
  if (waitsFor === "result" ? isOutsideResult(decision) : isApproval(decision)) return;
  throw new LoopError("invalid-decision", { call: id, waitsFor, problem: `is ${describeValue(decision)}` });
}

/** Executes a run in its workflow. Returns the facts of the result as JSON, or undefined if this execution was abandoned. */
async function executeDurableRun(
  options: Omit<LoopOptions, DurableOwnOptions>,
  worker: WorkerProcess,
): Promise<string | undefined> {
  const runId = DBOS.workflowID ?? "";
  await endEarlier(worker, runId);
  const control = createLoopControl();
  const over = new AbortController();
  let end: () => void = () => {};
  let writer: EventWriter | undefined;
  let isAbandoned = false;
  const abandon = (): void => {
    isAbandoned = true;
    // Before the kill, so that its events and outcomes are dropped.
    over.abort(new Error("This execution of the run was abandoned."));
    writer?.close();
    control.kill();
  };
  const live: LiveRun = { control, abandon, ended: new Promise((resolve) => (end = resolve)) };
  worker.live.set(runId, live);
  try {
    const events = (writer = await EventWriter.begin(worker.store, runId));
    const hooks: StepHooks = {
      // Messages are read in the step that records them, so that no message is lost or read twice.
      beforeInbox: async (lastRead) => {
        const rows = await worker.store.readMessages(runId, lastRead);
        for (const { body } of rows) if (body.verb === "steer") control.steer(body.message as string | UserMessage);
        return rows.at(-1)?.seq ?? lastRead;
      },
      beforeRecord: async () => {
        over.signal.throwIfAborted();
        await events.flush();
      },
      receive: (key) => worker.waitFor(runId, () => findDecision(worker, runId, key), over.signal),
    };
    await worker.obey(runId, live);
    const journal = createDbosJournal(hooks);
    const result = await runToolLoop({ ...options, runId, control, journal, events: createEmitter(events.take) });
    await events.flush();
    return isAbandoned ? undefined : JSON.stringify(factsOf(result));
  } catch (error) {
    if (isAbandoned) return undefined;
    throw error;
  } finally {
    over.abort(new Error("The run has ended."));
    writer?.close();
    worker.live.delete(runId);
    end();
  }
}

/**
 * Ends an earlier execution of the same run in this process. It exists if the process was frozen: another worker has taken the run
 * over, and the run has come back.
 */
async function endEarlier(worker: WorkerProcess, runId: string): Promise<void> {
  for (let earlier = worker.live.get(runId); earlier !== undefined; earlier = worker.live.get(runId)) {
    earlier.abandon();
    await earlier.ended;
  }
}

/** Returns the first decision with the key. */
async function findDecision({ store }: WorkerProcess, runId: string, key: string): Promise<Json | undefined> {
  for (const { body } of await store.readMessages(runId, 0)) if (body.verb === "decide" && body.key === key) return body.decision;
  return undefined;
}

function factsOf(result: LoopResult): Omit<DurableResult, "messages"> {
  const { status, reason, text, usage, costUSD, iterations, toolCallsExecuted, durationMs, error, output, undelivered, runId } =
    result;
  return { status, reason, text, usage, costUSD, iterations, toolCallsExecuted, durationMs, error, output, undelivered, runId };
}

async function* readEvents(worker: WorkerProcess, id: string, from: number): AsyncGenerator<DurableEvent, void, undefined> {
  let next = from;
  for (;;) {
    const rows = await worker.waitFor(id, async () => {
      const found = await worker.store.readEvents(id, next);
      return found.length === 0 ? undefined : found;
    });
    for (const { seq, body } of rows) {
      next = seq + 1;
      const event = JSON.parse(body) as LoopEvent;
      yield { seq, event };
      if (event.type === "run-end" && event.path === undefined) return;
    }
  }
}
