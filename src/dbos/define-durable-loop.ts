// A loop whose runs any worker can execute, stop and show. A run is a DBOS workflow.

import { DBOS, DBOSWorkflowConflictError, Error as errors } from "@dbos-inc/dbos-sdk";
import { invalidOption, isInboxKey, type Journal, type Json, type Plain, type Step, type Tool } from "../core/entry-kit.ts";
import { createDurableHost } from "../host/durable/create-durable-host.ts";
import { toLoopFields } from "../host/durable/host-options.ts";
import { checkLoopFields, createDurableLoop, type DefinedLoop } from "../host/durable/create-durable-loop.ts";
import type { DurableHost, DurableHostFields } from "../host/durable/durable-host.ts";
import type { DurableLoop, DurableLoopFields } from "../host/durable/durable-loop.ts";
import { createReadOnlyJournal } from "../host/durable/durable-records.ts";
import type { DurableEngine, FoundRun, StepHooks } from "../host/durable/durable-store.ts";
import { executeDurableRun } from "../host/durable/execute-durable-run.ts";
import { attributesOf, errorOf, loopNames, queueOf, stateOf, workflowNameOf } from "./list-runs.ts";
import type { PostgresStore } from "./postgres-store.ts";
import { hasWorker, type WorkerProcess, workerHere } from "./worker.ts";

type Workflow = (input: string) => Promise<string>;

/**
 * Defines a loop whose runs survive their workers. A run is a DBOS workflow. The steps of the run are recorded in Postgres, and
 * if the worker dies, another worker continues the run. Define the loop in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop of this
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
export function defineDurableLoop<Input, Output = unknown, T extends Tool = Tool>(
  fields: DurableLoopFields<Input, Output, T>,
): DurableLoop<Input, Plain<Output>, T> {
  // The cast is safe: the schema and the tools in the options determine the types of the output, the calls and the events.
  return define(fields as DurableLoopFields<Input>).loop as DurableLoop<Input, Plain<Output>, T>;
}

/**
 * Defines conversations whose runs survive their workers, for a web page. Any worker can serve the page, even if another worker
 * executes the run. Each run is a run of a durable loop, so define the host in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop of this
 * name.
 *
 * @example
 * const host = defineDurableHost({ name: "shop", options: ({ input }) => ({ provider, tools, context: input }) });
 * await launchWorker({ databaseUrl });
 * await host.start("chat-7", { message: "What is the weather in Oslo?" });
 * for await (const { id, event } of (await host.join("chat-7")) ?? []) console.log(id, event.type);
 */
export function defineDurableHost<Output = unknown, T extends Tool = Tool, Input = Json>(
  fields: DurableHostFields<Output, T, Input>,
): DurableHost<Plain<Output>, T, Input> {
  const general = fields as unknown as DurableHostFields;
  // The cast is safe, as in `defineDurableLoop`.
  return createDurableHost(general, define(toLoopFields(general))) as unknown as DurableHost<Plain<Output>, T, Input>;
}

function define<Input>(fields: DurableLoopFields<Input>): DefinedLoop<Input> {
  checkLoopFields(fields);
  if (loopNames.has(fields.name))
    throw invalidOption("name", "a name that no other durable loop of this process has", fields.name);
  if (hasWorker()) throw new Error(`Define the durable loop "${fields.name}" before you call launchWorker().`);
  loopNames.add(fields.name);
  const workflow = DBOS.registerWorkflow((input: string) => execute(fields, input), { name: workflowNameOf(fields.name) });
  const engineOf = (): DurableEngine => createEngine(fields.name, workflow, workerHere());
  return createDurableLoop(fields, engineOf);
}

async function execute<Input>(fields: DurableLoopFields<Input>, input: string): Promise<string> {
  const runId = DBOS.workflowID ?? "";
  // DBOS still starts runs during its shutdown. Another worker takes over the run.
  if (!hasWorker()) throw new DBOSWorkflowConflictError(runId);
  const worker = workerHere();
  const noteEnd = (): void => worker.outside(() => worker.noteEnd(runId));
  let end: string | undefined;
  try {
    // Runs outside the workflow. Otherwise, a tool could add steps to the workflow.
    end = await worker.outside(() =>
      executeDurableRun(worker, {
        runId,
        fields: fields as DurableLoopFields<Json>,
        input,
        createJournal: (hooks) => createRecordJournal(worker.store, runId, hooks),
      }),
    );
  } catch (error) {
    noteEnd();
    throw error;
  }
  if (end === undefined) {
    await worker.outside(() => worker.untilEnded(runId));
    // After this error, DBOS adopts the end that another execution has stored, and does not end the workflow itself.
    throw new DBOSWorkflowConflictError(runId);
  }
  noteEnd();
  return end;
}

function createEngine(loop: string, workflow: Workflow, worker: WorkerProcess): DurableEngine {
  const { store, outside, application } = worker;
  const queueName = queueOf(application, loop);
  const workflowAttributes = attributesOf(application);
  /** Selects the runs of this loop in this application. */
  const own = { workflowName: workflowNameOf(loop), attributes: workflowAttributes };
  return {
    store,
    answerMs: worker.answerMs,
    waitFor: (id, look, signal) => worker.waitFor(id, look, signal),
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
    waitForEnd: (id, look, signal) => worker.waitForEnd(id, look, signal),
    retry: (id) =>
      outside(() =>
        store.changeRuns(async () => {
          if ((await findRun({ ...own, workflowIDs: [id] }))?.state !== "failed") return false;
          await DBOS.rewindWorkflow(id, { startStep: 0, queueName });
          return true;
        }),
      ),
    readJournal: (id) => readRecordJournal(store, id),
  };
}

async function findRun(which: Parameters<typeof DBOS.listWorkflows>[0]): Promise<FoundRun | undefined> {
  const [found] = await DBOS.listWorkflows({ ...which, loadInput: false, loadOutput: true });
  if (found === undefined) return undefined;
  const state = stateOf(found.status);
  if (state === "failed") return { state, error: errorOf(found), cause: found.error };
  return state === "ended" ? { state, readEnd: async () => String(found.output) } : { state };
}

/**
 * Makes the journal of one execution of a run, with the records of earlier executions. The store writes a record together with
 * the preceding events.
 */
export async function createRecordJournal(store: PostgresStore, runId: string, hooks: StepHooks): Promise<Journal> {
  const recorded = new Map((await hooks.repeat(() => store.readRecords(runId))).map((record) => [record.key, record]));
  const keys = new Set(recorded.keys());
  const step = async <T>({ key, kind, run }: Step<T>): Promise<T> => {
    const known = recorded.get(key);
    if (known !== undefined) {
      hooks.lastRead = known.lastRead ?? hooks.lastRead;
      return JSON.parse(known.body) as T;
    }
    const isInbox = kind === "inbox" && isInboxKey(key);
    if (isInbox) await hooks.beforeInbox();
    const body = JSON.stringify(await run({}));
    await hooks.record(isInbox ? { key, body, lastRead: hooks.lastRead } : { key, body });
    keys.add(key);
    return JSON.parse(body) as T;
  };
  return {
    durable: true,
    step,
    all: (steps) => Promise.all(steps.map(step)),
    has: (key) => keys.has(key),
    // A wait needs no record, because the first decision with the key counts in every execution.
    wait: (key) => hooks.receive(key),
  };
}

function readRecordJournal(store: PostgresStore, runId: string): Journal {
  return createReadOnlyJournal(async () => {
    const records = await store.readRecords(runId);
    return new Map(records.map(({ key, body }) => [key, JSON.parse(body) as unknown]));
  });
}
