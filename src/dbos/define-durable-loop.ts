// Defines loops whose runs any worker can execute, stop and display. Each run is a DBOS workflow.

import { DBOS, DBOSWorkflowConflictError, Error as errors } from "@dbos-inc/dbos-sdk";
import type { Json } from "../core/index.ts";
import type { DefinedLoop } from "../host/durable/create-durable-loop.ts";
import type { DurableLoopFields } from "../host/durable/durable-loop.ts";
import type { DurableEngine, FoundRun } from "../host/durable/durable-store.ts";
import { executeDurableRun } from "../host/durable/execute-durable-run.ts";
import { type Definers, definersOf } from "../host/durable/process-loops.ts";
import { attributesOf, deleteRuns, errorOf, queueOf, stateOf, workflowNameOf } from "./list-runs.ts";
import { here, type WorkerProcess } from "./worker.ts";

type Workflow = (input: string) => Promise<string>;

const definers = /* @__PURE__ */ definersOf((fields) => define(fields));

/**
 * Defines a loop whose runs survive their workers. Each run is a DBOS workflow, whose steps are recorded in Postgres. If the worker dies,
 * another worker continues the run. Define the loop in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop with this
 * name.
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
export const defineDurableLoop: Definers["defineDurableLoop"] = definers.defineDurableLoop;

/**
 * Defines a host for a web page's conversations, whose runs survive their workers. Any worker can serve the page, even if a different
 * worker is executing the run. Each run is a run of a durable loop, so define the host in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop with this
 * name.
 *
 * @example
 * const host = defineDurableHost({ name: "shop", options: ({ input }) => ({ provider, tools, context: input }) });
 * await launchWorker({ databaseUrl });
 * await host.start("chat-7", { message: "What is the weather in Oslo?" });
 * for await (const { id, event } of (await host.join("chat-7")) ?? []) console.log(id, event.type);
 */
export const defineDurableHost: Definers["defineDurableHost"] = definers.defineDurableHost;

function define(fields: DurableLoopFields<Json>): DefinedLoop<Json> {
  const { name } = fields;
  const defined = here.define(fields, (worker) => createEngine(name, workflow, worker));
  const workflow = DBOS.registerWorkflow((input: string) => execute(fields, input), {
    name: workflowNameOf(name),
  });
  return defined;
}

async function execute(fields: DurableLoopFields<Json>, input: string): Promise<string> {
  const runId = DBOS.workflowID ?? "";
  // DBOS still starts runs while it is shutting down. This error makes it leave the run to another worker.
  if (!here.hasWorker) throw new DBOSWorkflowConflictError(runId);
  const { worker } = here;
  const noteEnd = (): void => worker.outside(() => worker.noteEnd(runId));
  try {
    // Executes the run outside the workflow, because a tool could otherwise add steps to the workflow.
    const end = await worker.outside(() => executeDurableRun(worker, { runId, fields, input }));
    if (end.kind === "ended") {
      noteEnd();
      return end.facts;
    }
  } catch (error) {
    noteEnd();
    throw error;
  }
  await worker.outside(() => worker.untilEnded(runId));
  // This error makes DBOS use the result stored by another execution, instead of ending the workflow itself.
  throw new DBOSWorkflowConflictError(runId);
}

function createEngine(loop: string, workflow: Workflow, worker: WorkerProcess): DurableEngine {
  const { store, outside, application } = worker;
  const queueName = queueOf(application, loop);
  const workflowAttributes = attributesOf(application);
  /** The filters that select this loop's runs in this application. */
  const own = { workflowName: workflowNameOf(loop), attributes: workflowAttributes };
  return {
    ...worker.ports,
    start: (id, input) =>
      outside(async () => {
        try {
          const params = { workflowID: id, queueName, workflowAttributes, workflowIDReusePolicy: "reject" as const };
          await DBOS.startWorkflow(workflow, params)(input);
          return true;
        } catch (error) {
          if (errors.isWorkflowIDInUseError(error)) return false;
          throw error;
        }
      }),
    find: (id) => outside(() => findRun({ ...own, workflowIDs: [id] })),
    readInput: (id) =>
      outside(async () => {
        const [found] = await DBOS.listWorkflows({ ...own, workflowIDs: [id], loadOutput: false });
        return found === undefined ? undefined : String(found.input?.[0]);
      }),
    remove: async (ids) => void (await outside(() => deleteRuns(worker, { ids }))),
    retry: (id) =>
      outside(() =>
        store.changeRuns(async () => {
          if ((await findRun({ ...own, workflowIDs: [id] }))?.state !== "failed") return false;
          await DBOS.rewindWorkflow(id, { startStep: 0, queueName });
          return true;
        }),
      ),
  };
}

async function findRun(which: Parameters<typeof DBOS.listWorkflows>[0]): Promise<FoundRun | undefined> {
  const [found] = await DBOS.listWorkflows({ ...which, loadInput: false, loadOutput: true });
  if (found === undefined) return undefined;
  const state = stateOf(found.status);
  if (state === "failed") return { state, error: errorOf(found), cause: found.error };
  return state === "ended" ? { state, readEnd: async () => String(found.output) } : { state };
}
