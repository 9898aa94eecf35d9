import { DBOS } from "@dbos-inc/dbos-sdk";
import {
  type CallDecision,
  isApproval,
  isOutsideResult,
  isRecord,
  type Journal,
  type Json,
  LoopError,
  type Step,
  toJson,
  toPlainError,
} from "../core/entry-kit.ts";
import { toDecided, unknownDecision } from "../host/durable/check-decisions.ts";
import { inspectJournal } from "../journal/index.ts";
import { createReadOnlyJournal } from "../host/durable/durable-records.ts";

/**
 * How a step is stored. `text` is the JSON text of the result, because DBOS's own format changes some values. `failed` is the
 * message of an error. After a failure, a new execution must run the step again. So the error itself is not thrown: DBOS would
 * replay a thrown error.
 */
type Stored = { readonly text: string } | { readonly failed: string };

/** The end of a step. `thrown` is set only if the step was run in this execution and failed, not if DBOS replayed the failure. */
interface StepEnd<T> {
  readonly step: WorkflowStep<T>;
  readonly stored: Stored;
  readonly thrown?: { readonly error: unknown } | undefined;
}

/**
 * How long one call of `DBOS.recv` waits, in seconds. The time is long, because each repeated call adds a record to the workflow.
 */
export const longestWait = 3_600;

/**
 * Makes the journal of the DBOS workflow that calls this function. Each step of the run is a step of the workflow. If the worker dies,
 * DBOS calls the workflow again, and the run continues. Call `runToolLoop` once in a workflow, with the id of the workflow as `runId`.
 *
 * A call that waits for a decision keeps its workflow waiting, for days if necessary. `sendDecision` sends the decision.
 *
 * Throws LoopError "invalid-option" outside a workflow.
 *
 * @example
 * const answer = DBOS.registerWorkflow(
 *   async (question: string) => {
 *     const messages = [{ role: "user" as const, content: question }];
 *     const { text } = await runToolLoop({ ...options, messages, runId: DBOS.workflowID, journal: dbosJournal() });
 *     return text;
 *   },
 *   { name: "answer" },
 * );
 */
export function dbosJournal(): Journal {
  const { workflowID } = DBOS;
  if (workflowID === undefined || !DBOS.isInWorkflow()) {
    throw new LoopError("invalid-option", {
      option: "dbosJournal()",
      expected: "called inside a DBOS workflow, and outside its steps",
      received: "called elsewhere",
    });
  }
  return {
    durable: true,
    // DBOS matches steps by their position in the workflow.
    ordered: true,
    step: async (step) => finish(await store(step, 0)),
    all: runWorkflowSteps,
    wait: receive,
  };
}

type WorkflowStep<T> = Pick<Step<T>, "key" | "run">;

/** Runs several steps in the current workflow, or returns their recorded results. */
export async function runWorkflowSteps<T>(group: readonly WorkflowStep<T>[]): Promise<readonly T[]> {
  // All steps are created synchronously, in call order, because DBOS numbers them in this order.
  const ends = await Promise.all(group.map((step) => store(step, 0)));
  const results: T[] = [];
  for (const end of ends) results.push(await finish(end));
  return results;
}

async function store<T>(step: WorkflowStep<T>, attempt: number): Promise<StepEnd<T>> {
  let thrown: { readonly error: unknown } | undefined;
  const body = async (): Promise<Stored> => {
    try {
      return { text: JSON.stringify(await step.run({ signal: DBOS.stepStatus?.cancelSignal })) };
    } catch (error) {
      thrown = { error };
      return { failed: toPlainError(error).message };
    }
  };
  const stored = await DBOS.runStep(body, { name: attempt === 0 ? step.key : `${step.key} attempt ${attempt}` });
  return { step, stored, thrown };
}

/** If the step failed in an earlier execution, runs it again. */
async function finish<T>(first: StepEnd<T>): Promise<T> {
  let end = first;
  for (let attempt = 1; ; attempt += 1) {
    if ("text" in end.stored) return JSON.parse(end.stored.text) as T;
    if (end.thrown !== undefined) throw end.thrown.error;
    end = await store(end.step, attempt);
  }
}

/**
 * Returns a journal that only reads the records of a workflow, for `inspectJournal`. `workflowId` is the id of a workflow that
 * uses `dbosJournal`. Call this function outside workflows.
 *
 * @example
 * const { status, pendingCalls } = await inspectJournal(readDbosJournal("order-7"));
 */
export function readDbosJournal(workflowId: string): Journal {
  return createReadOnlyJournal(async () => {
    const records = new Map<string, unknown>();
    for (const { name, output } of (await DBOS.listWorkflowSteps(workflowId)) ?? []) {
      if (!isRecord(output) || typeof output["text"] !== "string") continue;
      records.set(name.replace(/ attempt \d+$/, ""), JSON.parse(output["text"]));
    }
    return records;
  });
}

/**
 * Sends a decision or a result to a waiting call of a workflow that uses `dbosJournal`. `callId` is the `id` of a call in
 * `pendingCalls` of `inspectJournal(readDbosJournal(workflowId))`. The first decision about a call counts. Call this function
 * outside workflows, for example in the handler of a page. For durable loops, use `decide` of the loop.
 *
 * Rejects with LoopError "unknown-decision" if the call does not wait, and "invalid-decision" if the decision does not fit. Nothing
 * is sent then.
 *
 * @example
 * await sendDecision("order-7", pendingCalls[0].id, { kind: "approve" });
 */
export async function sendDecision(workflowId: string, callId: string, decision: CallDecision): Promise<void> {
  const { pendingCalls } = await inspectJournal(readDbosJournal(workflowId));
  const message = await toDecided({ pendingCalls }, callId, decision);
  // A question of a live tool has no durable wait in a workflow.
  if (message?.verb !== "decide") throw unknownDecision(pendingCalls, callId);
  await DBOS.send(workflowId, JSON.stringify(message.decision), message.key);
}

/**
 * Waits without a time limit, although each call of `DBOS.recv` has a time limit. Drops messages that are no decisions, because any
 * process can send messages to a workflow.
 */
async function receive(key: string): Promise<Json> {
  for (;;) {
    const decision = readDecision(await DBOS.recv<unknown>(key, { timeoutSeconds: longestWait }));
    if (decision !== undefined) return decision;
  }
}

function readDecision(message: unknown): Json | undefined {
  try {
    const decision: unknown = typeof message === "string" ? JSON.parse(message) : message;
    return isApproval(decision) || isOutsideResult(decision) ? toJson(decision) : undefined;
  } catch {
    return undefined;
  }
}
