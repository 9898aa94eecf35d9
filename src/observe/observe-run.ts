// Adds an observer to the options of a run, without a change of its events, results or errors.

import {
  createToolRegistry,
  type LoopEvent,
  type LoopEvents,
  type LoopOptions,
  type LoopResult,
  type NestedLoopOptions,
  type Provider,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRegistry,
} from "../core/index.ts";
import { isToolRegistry, type LoopEventType, type MiddlewareList } from "../core/kit.ts";
import { isEmitter, isRecord } from "../shared/guards.ts";
import {
  ObservedEmitter,
  observeProvider,
  type Observing,
  type RunObserver,
  type StartObserving,
  type Watch,
} from "./run-observer.ts";
import { isGenerator } from "../shared/to-outcome.ts";
import type { ClosedRun } from "../shared/signals.ts";

interface ToolPorts {
  observerOf(call: ToolContext): RunObserver | undefined;
  observeNested(options: NestedLoopOptions, start: StartObserving): NestedLoopOptions;
}

/**
 * Makes the registry that the run would make from its tools. Returns undefined if there are no tools. Also returns undefined if
 * the tools are invalid, because the run itself reports the mistake.
 */
function toRegistry({ tools }: Pick<LoopOptions, "tools">): ToolRegistry | undefined {
  if (isToolRegistry(tools)) return tools;
  if (!Array.isArray(tools)) return undefined;
  try {
    return createToolRegistry(tools);
  } catch {
    return undefined;
  }
}

function observeRegistry(registry: ToolRegistry, ports: ToolPorts): ToolRegistry {
  const { validate, validateResult } = registry;
  return {
    definitions: () => registry.definitions(),
    executeTool(name, args, context) {
      const observer = ports.observerOf(context);
      if (observer === undefined) return registry.executeTool(name, args, context);
      const step = <Value>(call: () => Value): Value => observer.runTool(context, call);
      return observeSteps(
        step(() => registry.executeTool(name, args, withNesting(context, observer, ports))),
        step,
      );
    },
    ...(validate !== undefined && { validate: (name, args) => validate.call(registry, name, args) }),
    ...(validateResult !== undefined && { validateResult: (name, result) => validateResult.call(registry, name, result) }),
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

/**
 * Replaces `runToolLoop` and `run` in a tool context. Uses a proxy, because the getters of the context work only on the original object.
 */
function withNesting(context: ToolContext, observer: RunObserver, ports: ToolPorts): ToolContext {
  const runToolLoop = (options: NestedLoopOptions): Promise<LoopResult> =>
    context.runToolLoop(ports.observeNested(options, observer.nest(context)));
  const run = (options: NestedLoopOptions, name?: string): Promise<LoopResult> =>
    context.run(ports.observeNested(options, observer.nest(context)), name);
  const replaced: { readonly [key: string | symbol]: unknown } = { runToolLoop, run };
  return new Proxy(context, { get: (target, key): unknown => replaced[key] ?? Reflect.get(target, key, target) });
}

interface Observed {
  readonly observed: WeakSet<Provider>;
  observeOnce(provider: Provider): Provider;
}

/**
 * Observes the streams of the providers that agents and `prepareIteration` choose. The provider of the run is observed already, also
 * if the caller has wrapped it since.
 */
function observeStreams(middleware: MiddlewareList, { observed, observeOnce }: Observed): MiddlewareList {
  const taken = middleware.filter((one) => isRecord(one) && String(one["name"]).startsWith("observer")).length;
  const name = taken === 0 ? "observer" : `observer ${taken + 1}`;
  return [
    { name: `${name}, outside`, pure: true, request: (request, next) => (observed.add(request.provider), next(request)) },
    ...middleware,
    { name, pure: true, provider: observeOnce },
  ];
}

/**
 * Returns options with which a run and its nested runs are observed. `start` is called at the start of each run, and returns
 * the observer of the run. The observer is closed when the run is over, however the run ended. Tools and results do not change.
 * The caller's listeners are called after the observer. Invalid options are not reported here, because the run reports them.
 *
 * @example
 * const watched = observeRun(options, { hears: ["tool-end"], start: ({ runId }) => createObserver(runId) });
 * await runToolLoop(watched);
 */
export function observeRun<Output, T extends Tool>(
  options: LoopOptions<Output, T>,
  observing: Observing,
): LoopOptions<Output, T> {
  // The cast is safe, because the added middleware has no output.
  return isRecord(options) ? { ...options, ...(observe(options, observing) as Partial<LoopOptions<Output, T>>) } : options;
}

type Watched = Partial<Pick<LoopOptions, "events" | "middleware" | "provider" | "tools">>;

/** `inherited` is the provider of the outer run, which a nested run without a provider uses. */
function observe(options: NestedLoopOptions, observing: Observing, inherited?: Provider): Watched {
  const { events, middleware = [], provider = inherited } = options;
  const registry = toRegistry(options);
  const runs = new ObservedRuns(observing, { options, registry });
  const current = (): RunObserver | undefined => runs.current;
  const observeNested = (nested: NestedLoopOptions, start: StartObserving): NestedLoopOptions =>
    isRecord(nested) ? { ...nested, ...observe(nested, { ...observing, start }, provider) } : nested;
  const observed = new WeakSet<Provider>();
  const observeOnce = (one: Provider): Provider => {
    if (observed.has(one)) return one;
    const made = observeProvider(one, current);
    // An invalid provider stays as it is, because the run refuses it with a clear error.
    if (made !== one) observed.add(made);
    return made;
  };
  const ports = { observerOf: (call: ToolContext) => runs.of(call), observeNested };
  return {
    ...(provider !== undefined && { provider: observeOnce(provider) }),
    ...((events === undefined || isEmitter(events)) && { events: new ObservedEmitter(events, runs) }),
    ...(registry !== undefined && { tools: observeRegistry(registry, ports) }),
    ...(Array.isArray(middleware) && { middleware: observeStreams(middleware, { observed, observeOnce }) }),
  };
}

interface Source {
  readonly options: NestedLoopOptions;
  readonly registry: ToolRegistry | undefined;
}

/** The observers of the runs that use one options object. Several of these runs may be active at the same time. */
class ObservedRuns implements Watch {
  readonly #observing: Observing;
  readonly #source: Source;
  readonly #heard: ReadonlySet<LoopEventType>;
  readonly #live = new Map<string, RunObserver>();
  #current: RunObserver | undefined;

  constructor(observing: Observing, source: Source) {
    this.#observing = observing;
    this.#source = source;
    this.#heard = new Set([...observing.hears, "iteration-start"] as const);
  }

  /** The observer of the run that started its iteration most recently. The next stream belongs to this run. */
  get current(): RunObserver | undefined {
    return this.#current;
  }

  hears(type: LoopEventType): boolean {
    return type === "run-start" || (this.#live.size > 0 && this.#heard.has(type));
  }

  take(event: LoopEvent): void {
    // Events with a `path` are from nested runs, which have their own observers.
    if (event.path !== undefined) return;
    if (event.type === "run-start") return this.#start(event);
    const observer = this.#live.get(event.runId);
    if (event.type === "iteration-start") this.#current = observer;
    observer?.onEvent(event);
  }

  #start({ runId, provider: id, model }: LoopEvents["run-start"]): void {
    const { options, registry } = this.#source;
    const definitions = (): readonly ToolDefinition[] => registry?.definitions() ?? [];
    const observer = this.#observing.start({ runId, options, provider: { id, model }, definitions });
    if (observer !== undefined) this.#live.set(runId, observer);
  }

  /**
   * Returns the observer of the run that made a call. With several runs, finds the run by the idempotency key of the call,
   * which begins with the run id.
   */
  of(call: ToolContext): RunObserver | undefined {
    if (this.#live.size < 2) return this.#live.values().next().value;
    const { idempotencyKey } = call;
    const ids = [...this.#live.keys()].filter((runId) => idempotencyKey.startsWith(`${runId}/`));
    const [nearest = ""] = ids.sort((a, b) => b.length - a.length);
    return this.#live.get(nearest);
  }

  close({ runId, failure, isNew }: ClosedRun): void {
    const observer = this.#live.get(runId);
    if (observer === undefined) return;
    this.#live.delete(runId);
    if (this.#current === observer) this.#current = undefined;
    observer.close(failure, isNew);
  }
}
