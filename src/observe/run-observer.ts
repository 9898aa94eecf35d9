// Defines the interface for observers of runs, such as tracing, and the middleware that calls them.

import type {
  EndReason,
  LoopEvent,
  LoopEvents,
  LoopStatus,
  Middleware,
  ModelChunk,
  ModelRequest,
  Provider,
  StreamResult,
  ToolContext,
  ToolDefinition,
  ToolRegistry,
} from "../core/index.ts";
import { type Hooks, type RunFacts, isRecord } from "../core/kit.ts";
import type { LoopEventType } from "../core/types/loop-event.ts";
import { isProvider } from "../shared/errors/provider-checks.ts";
import { redactText } from "../shared/redact-secrets.ts";
import { isGenerator } from "../shared/to-outcome.ts";
import { wrapProvider } from "../shared/wrap-provider.ts";

type StreamStatus = StreamResult["status"];

/** The maximum length of ids and names in traces, in UTF-16 code units. */
const maxNameLength = 128;

/** Truncates an id or a name, and removes credentials from it, because models choose some ids and names freely. */
export function cleanName(name: string): string {
  return redactText(name, maxNameLength, "");
}

export function isFailed(status: LoopStatus | StreamStatus): boolean {
  return status === "error" || status === "timeout";
}

export function errorTypeOf(status: LoopStatus, reason: EndReason): string | undefined {
  if (!isFailed(status)) return undefined;
  return reason.kind === "provider-error" ? reason.error.code : reason.kind;
}

export type EventHandlers<Observer> = {
  readonly [Type in LoopEventType]?: (observer: Observer, event: LoopEvents[Type]) => void;
};

export function handleEvent<Observer>(handlers: EventHandlers<Observer>, observer: Observer, event: LoopEvent): void {
  // Safe cast: the handler was looked up by the event's type.
  (handlers[event.type] as ((observer: Observer, event: LoopEvent) => void) | undefined)?.(observer, event);
}

/** A run that has started. */
export interface ObservedRun {
  readonly runId: string;
  readonly options: RunFacts["options"];
  readonly provider: { readonly id: string; readonly model: string };
  /** Returns the current tools. The array is the same object until the tools change. */
  definitions(): readonly ToolDefinition[];
}

export type StartObserving = (run: ObservedRun) => RunObserver | undefined;

/** Observes one run. */
export interface RunObserver {
  /** Called with each event of the run after `run-start`, except events of nested runs. */
  onEvent(event: LoopEvent): void;
  startStream?(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined;
  /** Called for each attempt to run a tool, and for each part of a generator. Must call `execute` and return its result. */
  runTool<Value>(call: Pick<ToolContext, "callId">, execute: () => Value): Value;
  /** Called when a tool call starts a nested run. Returns the function that creates that run's observer. */
  nest(call: Pick<ToolContext, "callId" | "name">): StartObserving;
  /**
   * Called when the run is over. `failure` is set if the run rejected with an error, in which case no `run-end` event was emitted.
   * `isNew` is false if everything in the run was replayed.
   */
  close(failure: { readonly error: unknown } | undefined, isNew: boolean): void;
}

export interface StreamObserver {
  /** Called for each operation on the stream: opening it, reading a chunk, closing it. Must call `step` and return its result. */
  run<Value>(step: () => Value): Value;
  /** Called with a chunk before the loop receives it. Return true to be called with the next chunk too. */
  onChunk?(chunk: ModelChunk): boolean;
}

/** Returns middleware that observes runs and their nested runs. `start` is called at the start of each run. */
export function observeRuns(name: string, start: StartObserving): Middleware {
  return { name, pure: true, begin: (run) => observe(run, start) };
}

function observe({ runId, options, definitions }: RunFacts, start: StartObserving): Hooks {
  let observer: RunObserver | undefined;
  const current = (): RunObserver | undefined => observer;
  return {
    on(event) {
      // Skips events of nested runs, because each nested run has its own observer.
      if (event.path !== undefined) return;
      observer?.onEvent(event);
      if (event.type !== "run-start") return;
      const { provider: id, model } = event;
      observer = start({ runId, options, provider: { id, model }, definitions });
    },
    provider: (provider) => observeProvider(provider, current),
    registry: (registry) => observeRegistry(registry, current),
    nest: (run, { callId, name = "" }) => observer && observe(run, observer.nest({ callId, name })),
    close: ({ failure, isNew }) => observer?.close(failure, isNew),
  };
}

function observeRegistry(registry: ToolRegistry, current: () => RunObserver | undefined): ToolRegistry {
  return {
    ...registry,
    executeTool(name, args, context) {
      const observer = current();
      if (observer === undefined) return registry.executeTool(name, args, context);
      const step = <Value>(call: () => Value): Value => observer.runTool(context, call);
      return observeSteps(
        step(() => registry.executeTool(name, args, context)),
        step,
      );
    },
  };
}

function observeSteps(output: unknown, step: <Value>(call: () => Value) => Value): unknown {
  if (output instanceof Promise) return output.then((value: unknown) => observeSteps(value, step));
  if (!isGenerator(output)) return output;
  return {
    next: () => step(() => output.next()),
    return: () => step(() => output.return()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export function observeProvider(provider: Provider, current: () => RunObserver | undefined): Provider {
  if (!isProvider(provider)) return provider;
  return wrapProvider(provider, {
    stream(request, call) {
      // Observes only streams of iterations. A request with a purpose, such as a summary, is not part of an iteration.
      if (request.purpose !== undefined) return provider.stream(request, call);
      const observer = current()?.startStream?.(request, provider);
      // Applies the run's guardrails first, so that the observer does not get chunks that they refuse.
      const { guard = unguarded } = call;
      const open = (): AsyncIterable<ModelChunk> => guard(provider.stream(request, call));
      return observer === undefined ? open() : observeStream(open, observer);
    },
  });
}

function unguarded(stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> {
  return stream;
}

/** Observes the stream that `open` returns. Any other value is returned unchanged, so that the loop can report the mistake. */
function observeStream(open: () => AsyncIterable<ModelChunk>, observer: StreamObserver): AsyncIterable<ModelChunk> {
  const stream = observer.run(open);
  if (typeof (stream as Partial<typeof stream> | null)?.[Symbol.asyncIterator] !== "function") return stream;
  return {
    [Symbol.asyncIterator]() {
      const iterator = observer.run(() => stream[Symbol.asyncIterator]());
      return typeof (iterator as Partial<typeof iterator> | null)?.next === "function"
        ? observeIterator(iterator, observer)
        : iterator;
    },
  };
}

function observeIterator(iterator: AsyncIterator<ModelChunk>, observer: StreamObserver): AsyncIterator<ModelChunk> {
  const pull = (): Promise<IteratorResult<ModelChunk>> => iterator.next();
  let looks = observer.onChunk !== undefined;
  const look = (result: IteratorResult<ModelChunk>): void => {
    if (!looks || result?.done === true || !isRecord(result?.value)) return;
    try {
      looks = observer.onChunk?.(result.value) === true;
    } catch {
      looks = false;
    }
  };
  return {
    next() {
      const result = observer.run(pull);
      // Returns the original promise, so that observing does not delay the loop. Observes only native promises, because calling another
      // thenable's `then` twice might request a second chunk.
      if (looks && result instanceof Promise) result.then(look, () => {});
      return result;
    },
    ...(typeof iterator.return === "function" && {
      return: (value?: unknown) => observer.run(() => iterator.return?.(value) as Promise<IteratorResult<ModelChunk>>),
    }),
  };
}
