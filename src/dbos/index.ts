// The entry `turnwright/dbos`: runs that survive their worker, on DBOS and Postgres.

export { dbosJournal } from "./dbos-journal.ts";
export {
  defineDurableLoop,
  type DurableEvent,
  type DurableLoop,
  type DurableLoopFields,
  type DurableOwnOptions,
  type DurableResult,
} from "./define-durable-loop.ts";
export { launchWorker, type Worker, type WorkerOptions } from "./worker.ts";
