// For authors of observers, besides the entry kit. A file of its own, so that providers do not bring it along.

export {
  cutName,
  errorTypeOf,
  type EventHandlers,
  handleEvent,
  heardBy,
  isFailed,
  type ObservedRun,
  type Observing,
  type RunObserver,
  type StartObserving,
  type StreamObserver,
} from "./observe/run-observer.ts";
export { observeRun } from "./observe/observe-run.ts";
export { countsAsError } from "./tools/render-outcome.ts";
