// Internal exports of the core, for code that observes events. These exports are not in entry-kit.ts, so that bundles of
// providers do not include them.

export {
  cleanName,
  errorTypeOf,
  type EventHandlers,
  handleEvent,
  heardBy,
  isFailed,
  type ObservedRun,
  type RunObserver,
  type StartObserving,
  type StreamObserver,
} from "../observe/run-observer.ts";
export { observeRun } from "../observe/observe-run.ts";
export { countsAsError } from "../shared/to-outcome.ts";
