// Runs the loop in a DBOS workflow: each step is a step of the workflow, and a wait is a durable wait of the workflow.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { isRecord, type Json, LoopError, type LoopResult, parseJson } from "../core/entry-kit.ts";
import {
  runInEngine,
  type SentAnswer,
  type ShownWait,
  type WorkflowEngine,
  type WorkflowPorts,
} from "../host/durable/run-in-engine.ts";
import { longestWait, runWorkflowSteps } from "./dbos-journal.ts";

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

class DbosEngine implements WorkflowEngine {
  readonly id: string;
  readonly #abort = new AbortController();

  constructor(id: string) {
    this.id = id;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  readonly all: WorkflowEngine["all"] = (wave) =>
    runWorkflowSteps(
      wave.map(({ key, body }) => ({
        key,
        run: ({ signal }) => {
          signal?.addEventListener("abort", () => this.#abort.abort(signal.reason), { once: true });
          return body();
        },
      })),
    );

  show(waits: readonly ShownWait[]): Promise<void> {
    return DBOS.setEvent(waitsEvent, JSON.stringify(waits));
  }

  /** Drops answers that nothing waits for, because any process can send messages to a workflow. */
  async receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<SentAnswer | undefined> {
    for (;;) {
      const timeoutSeconds = limitMs === undefined ? longestWait : Math.min(longestWait, limitMs / 1_000);
      const answer = readAnswer(await DBOS.recv<unknown>(answersTopic, { timeoutSeconds }), waits);
      if (answer !== undefined || limitMs !== undefined) return answer;
    }
  }
}

function readAnswer(message: unknown, waits: readonly ShownWait[]): SentAnswer | undefined {
  const sent = typeof message === "string" ? parseJson(message) : undefined;
  if (!isRecord(sent) || sent["value"] === undefined) return undefined;
  const wait = waits.find(({ id, attempt }) => id === sent["id"] && attempt === sent["attempt"]);
  return wait === undefined ? undefined : { id: wait.id, value: sent["value"] as Json };
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
 * not wait for it. Call this function outside workflows.
 */
export async function sendAnswer(workflowId: string, id: string, value: Json): Promise<void> {
  const waits = await readWaits(workflowId);
  const wait = waits.find((one) => one.id === id);
  if (wait === undefined) throw new LoopError("unknown-decision", { call: id, waiting: waits.map((one) => one.id) });
  const { attempt } = wait;
  await DBOS.send(workflowId, JSON.stringify({ id, attempt, value }), answersTopic, `${workflowId} ${id} ${attempt}`);
}
