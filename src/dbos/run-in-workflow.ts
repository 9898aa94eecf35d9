// Runs the loop in a DBOS workflow: each journal step becomes a workflow step, and the workflow waits durably for answers.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { isRecord, toWaitingCall } from "../core/kit.ts";
import { findAnswerProblem } from "../shared/answer-problem.ts";
import { type Json, LoopError, type LoopResult } from "../core/index.ts";
import { parseJson } from "../shared/json.ts";
import {
  type Answers,
  checkAnswerTo,
  runInEngine,
  type ShownWait,
  type StoredStep,
  type WorkflowEngine,
  type WorkflowPorts,
} from "../host/durable/run-in-engine.ts";

const waitsEvent = "turnwright waits";
const answersTopic = "turnwright answers";

/**
 * Runs the loop in the DBOS workflow that calls this function. If the worker dies, DBOS calls the workflow again, and the run
 * continues. While the run is waiting for answers, the workflow waits too, for days if necessary. Send an answer with `sendAnswer`. A run
 * that DBOS cancels is aborted.
 *
 * Throws LoopError "invalid-option" outside a workflow.
 *
 * @example
 * const { text } = await runInWorkflow((ports) => runToolLoop({ provider, tools, messages, ...ports }));
 */
export async function runInWorkflow(execute: (ports: WorkflowPorts) => Promise<LoopResult>): Promise<LoopResult> {
  const { workflowID } = DBOS;
  if (workflowID === undefined || !DBOS.isInWorkflow()) {
    throw new LoopError("invalid-option", {
      option: "The function runInWorkflow",
      expected: "called inside a workflow and outside its steps",
      received: "called outside a DBOS workflow or inside a step",
    });
  }
  return runInEngine(new DbosEngine(workflowID), execute);
}

/** How long one call to `DBOS.recv` waits, in seconds. It is long because each call adds a record to the workflow. */
const maxWait = 3_600;

class DbosEngine implements WorkflowEngine<Promise<StoredStep>> {
  readonly id: string;
  readonly #abort = new AbortController();

  constructor(id: string) {
    this.id = id;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  begin(name: string, body: () => Promise<StoredStep>): Promise<StoredStep> {
    const run = (): Promise<StoredStep> => {
      const signal = DBOS.stepStatus?.cancelSignal;
      signal?.addEventListener("abort", () => this.#abort.abort(signal.reason), { once: true });
      return body();
    };
    return DBOS.runStep(run, { name });
  }

  finish(steps: readonly Promise<StoredStep>[]): Promise<readonly StoredStep[]> {
    return Promise.all(steps);
  }

  show(waits: readonly ShownWait[]): Promise<void> {
    return DBOS.setEvent(waitsEvent, JSON.stringify(waits));
  }

  /** Waits for an answer. Drops answers that nothing is waiting for, because any process can send messages to a workflow. */
  async receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<Answers> {
    for (;;) {
      const timeoutSeconds = limitMs === undefined ? maxWait : Math.min(maxWait, limitMs / 1_000);
      const answer = await readAnswer(await DBOS.recv<unknown>(answersTopic, { timeoutSeconds }), waits);
      if (answer !== undefined || limitMs !== undefined) return answer ?? {};
    }
  }
}

async function readAnswer(message: unknown, waits: readonly ShownWait[]): Promise<Answers | undefined> {
  const sent = typeof message === "string" ? parseJson(message) : undefined;
  if (!isRecord(sent) || sent["value"] === undefined) return undefined;
  const value = sent["value"] as Json;
  const wait = waits.find(({ id, attempt }) => id === sent["id"] && attempt === sent["attempt"]);
  const isFit = wait !== undefined && (await findAnswerProblem(toWaitingCall(wait), value)) === undefined;
  return isFit ? { [wait.id]: value } : undefined;
}

/** Returns what a workflow is waiting for, or an empty list if it is not waiting. Call this function outside workflows. */
export async function readWaits(
  workflowId: string,
  options: { readonly timeoutSeconds?: number } = {},
): Promise<readonly ShownWait[]> {
  const text = await DBOS.getEvent<string>(workflowId, waitsEvent, { timeoutSeconds: options.timeoutSeconds ?? 0 });
  return text === null ? [] : (JSON.parse(text) as readonly ShownWait[]);
}

/**
 * Sends an answer that a workflow is waiting for. Only the first answer counts. Rejects with LoopError "unknown-decision" if the
 * workflow is not waiting for this answer, and "invalid-decision" if the answer is of the wrong kind. Call this function outside
 * workflows.
 */
export async function sendAnswer(workflowId: string, id: string, value: Json): Promise<void> {
  const { attempt } = await checkAnswerTo(await readWaits(workflowId), id, value);
  await DBOS.send(workflowId, JSON.stringify({ id, attempt, value }), answersTopic, `${workflowId} ${id} ${attempt}`);
}
