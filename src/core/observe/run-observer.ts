// What may watch a run from the inside: it hears the run's events, and its tools and streams run in a context that it makes.

import type { LoopEvent, LoopEventType } from "../types/loop-event.ts";
import type { LoopOptions, ToolContext } from "../types/loop-options.ts";
import type { ModelChunk, ModelRequest, Provider } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";

/** A run that begins. */
export interface ObservedRun {
  readonly runId: string;
  /** As the caller gave them. */
  readonly options: Pick<LoopOptions, "limits" | "modelSettings" | "session">;
  readonly provider: { readonly id: string; readonly model: string };
  /** The tools of the run as they are now. The same array means that nothing has changed. */
  definitions(): readonly ToolDefinition[];
}

/** Begins to watch a run; undefined where nobody wants to. */
export type StartObserving = (run: ObservedRun) => RunObserver | undefined;

/** What is watched, and by whom. */
export interface Observing {
  /** The events that observers hear; `iteration-start` they hear always. */
  readonly hears: readonly LoopEventType[];
  /** Called when a run begins. */
  readonly start: StartObserving;
}

/** Watches one run. What it throws where it runs something is thrown into the run: it must not. */
export interface RunObserver {
  /** Hears an event of this very run; runs inside its calls have observers of their own. */
  onEvent(event: LoopEvent): void;
  /** A stream is about to be opened; undefined where it is not watched. */
  startStream?(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined;
  /** Runs what a call does: once, or once for each attempt. Gives what `execute` gives. */
  runTool<Value>(call: ToolContext, execute: () => Value): Value;
  /** Asked inside of a call that starts a run: how that one is watched. */
  nest(call: ToolContext): StartObserving;
  /** The run is over. `failure` is set where it broke, so that there was no `run-end`. */
  close(failure: { readonly error: unknown } | undefined): void;
}

/** Watches one stream. */
export interface StreamObserver {
  /** Runs one step of the stream: opening it, asking for a chunk, leaving it. Gives what `step` gives. */
  run<Value>(step: () => Value): Value;
  /** Sees a chunk before the loop does, and says whether it wants to see the next one. */
  onChunk?(chunk: ModelChunk): boolean;
}
