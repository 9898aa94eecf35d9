// What the author of an observer may import besides spi.ts. A file of its own, so that providers do not bring it along.

export { observeRun } from "./observe/observe-run.ts";
export type { ObservedRun, Observing, RunObserver, StartObserving, StreamObserver } from "./observe/run-observer.ts";
