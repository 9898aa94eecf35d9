// What the author of an observer may import besides spi.ts. A file of its own, so that providers do not bring it along.

export { cutName } from "./observe/cut-name.ts";
export { errorTypeOf, isFailed } from "./observe/error-type.ts";
export { type EventHandlers, handleEvent, heardBy } from "./observe/event-handlers.ts";
export { observeRun } from "./observe/observe-run.ts";
export type { ObservedRun, Observing, RunObserver, StartObserving, StreamObserver } from "./observe/run-observer.ts";
export { countsAsError } from "./tools/render-outcome.ts";
