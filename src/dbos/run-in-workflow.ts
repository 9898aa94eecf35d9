// Runs the loop in a DBOS workflow: each step is a step of the workflow, and a wait is a durable wait of the workflow.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { type AskedStep, isRecord, toWaitingCall } from "../core/kit.ts";
import { findAnswerProblem } from "../shared/answer-problem.ts";
import { type Json, LoopError, type LoopResult } from "../core/index.ts";
import { parseJson } from "../shared/json.ts";
import { toPlainError } from "../shared/plain-error.ts";
import {
  type Answers,
  checkAnswerTo,
  runInEngine,
  type ShownWait,
  type WorkflowEngine,
  type WorkflowPorts,
} from "../host/durable/run-in-engine.ts";

const waitsEvent = "turnwright waits";
const answersTopic = "turnwright answers";

/**
 * Runs the loop in the DBOS workflow that calls this function. If the worker dies, DBOS calls the workflow again, and the run
 * continues. While the run waits for answers, the workflow waits, for days if necessary: `sendAnswer` sends an answer. A run that
 * DBOS cancels is aborted.
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
      option: "runInWorkflow()",
      expected: "called inside a DBOS workflow, and outside its steps",
      received: "called elsewhere",
    });
  }
  return runInEngine(new DbosEngine(workflowID), execute);
}

/**
 * How a step is stored. `text` is the JSON text of the result, because DBOS's own format changes some values. `failed` is the
 * message of an error. After a failure, a new execution must run the step again. So the error itself is not thrown: DBOS would
 * replay a thrown error.
 */
type Stored = { readonly text: string } | { readonly failed: string };

/** The end of a step. `thrown` is set only if the step was run in this execution and failed, not if DBOS replayed the failure. */
interface StepEnd {
  readonly step: AskedStep;
  readonly stored: Stored;
  readonly thrown?: { readonly error: unknown } | undefined;
}

/**
 * How long one call of `DBOS.recv` waits, in seconds. The time is long, because each repeated call adds a record to the workflow.
 */
const longestWait = 3_600;

class DbosEngine implements WorkflowEngine {
  readonly id: string;
  readonly #abort = new AbortController();

  constructor(id: string) {
    this.id = id;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** All steps are begun at once, in their order, because DBOS numbers them in this order. */
  readonly all: WorkflowEngine["all"] = async (wave) => {
    const ends = await Promise.all(wave.map((step) => this.#store(step, 0)));
    const results: unknown[] = [];
    for (const end of ends) results.push(await this.#finish(end));
    return results;
  };

  async #store(step: AskedStep, attempt: number): Promise<StepEnd> {
    let thrown: StepEnd["thrown"];
    const body = async (): Promise<Stored> => {
      const signal = DBOS.stepStatus?.cancelSignal;
      signal?.addEventListener("abort", () => this.#abort.abort(signal.reason), { once: true });
      try {
        return { text: JSON.stringify(await step.body()) };
      } catch (error) {
        thrown = { error };
        return { failed: toPlainError(error).message };
      }
    };
    const stored = await DBOS.runStep(body, { name: attempt === 0 ? step.key : `${step.key} attempt ${attempt}` });
    return { step, stored, thrown };
  }

  /** If the step failed in an earlier execution, runs it again. */
  async #finish(first: StepEnd): Promise<unknown> {
    let end = first;
    for (let attempt = 1; ; attempt += 1) {
      if ("text" in end.stored) return JSON.parse(end.stored.text);
      if (end.thrown !== undefined) throw end.thrown.error;
      end = await this.#store(end.step, attempt);
    }
  }

  show(waits: readonly ShownWait[]): Promise<void> {
    return DBOS.setEvent(waitsEvent, JSON.stringify(waits));
  }

  /** Drops answers that nothing waits for, because any process can send messages to a workflow. */
  async receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<Answers> {
    for (;;) {
      const timeoutSeconds = limitMs === undefined ? longestWait : Math.min(longestWait, limitMs / 1_000);
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

/** Reads what a workflow waits for. Empty if it does not wait. Call this function outside workflows. */
export async function readWaits(
  workflowId: string,
  options: { readonly timeoutSeconds?: number } = {},
): Promise<readonly ShownWait[]> {
  const text = await DBOS.getEvent<string>(workflowId, waitsEvent, { timeoutSeconds: options.timeoutSeconds ?? 0 });
  return text === null ? [] : (JSON.parse(text) as readonly ShownWait[]);
}

/**
 * Sends an answer to a wait of a workflow. The first answer counts. Rejects with LoopError "unknown-decision" if the workflow does
 * not wait for it, and "invalid-decision" if it has another kind. Call this function outside workflows.
 */
export async function sendAnswer(workflowId: string, id: string, value: Json): Promise<void> {
  const { attempt } = await checkAnswerTo(await readWaits(workflowId), id, value);
  await DBOS.send(workflowId, JSON.stringify({ id, attempt, value }), answersTopic, `${workflowId} ${id} ${attempt}`);
}
