// Puts an observer into a run, by its options alone: in front of its listeners, around its tools, and around its provider.

import type { LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";
import type { LoopOptions, NestedLoopOptions, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { Provider } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { isEmitter } from "../utils/is-emitter.ts";
import { isRecord } from "../utils/is-record.ts";
import type { ClosedRun } from "../cancellation/run-closed.ts";
import { observeHooks, observeProvider } from "./observe-provider.ts";
import { observeRegistry, toRegistry } from "./observe-tools.ts";
import { ObservedEmitter, type Watch } from "./observed-emitter.ts";
import type { Observing, RunObserver, StartObserving } from "./run-observer.ts";

/**
 * Options whose run is watched, and so are the runs inside its calls. `start` is asked for an observer when a run begins, once for each;
 * that one is closed when the run is over, however it ended. Listeners, tools and results stay what they are: the caller's listeners
 * are called as before, behind the observer. Options that a run would refuse are left for the run to refuse.
 *
 * @example
 * const watched = observeRun(options, { hears: ["tool-end"], start: ({ runId }) => createObserver(runId) });
 * await runToolLoop(watched);
 */
export function observeRun<Output>(options: LoopOptions<Output>, observing: Observing): LoopOptions<Output> {
  return isRecord(options) ? { ...options, ...observe(options, observing) } : options;
}

/** The options that watching changes. */
type Watched = Partial<Pick<LoopOptions, "events" | "hooks" | "provider" | "tools">>;

/** Those options, watched. A run inside a call has the provider of the run around it, unless it names one. */
function observe(options: NestedLoopOptions, observing: Observing, inherited?: Provider): Watched {
  const { events, hooks, provider = inherited } = options;
  const registry = toRegistry(options);
  const runs = new ObservedRuns(observing, { options, registry });
  const current = (): RunObserver | undefined => runs.current;
  const observeNested = (nested: NestedLoopOptions, start: StartObserving): NestedLoopOptions =>
    isRecord(nested) ? { ...nested, ...observe(nested, { ...observing, start }, provider) } : nested;
  const ports = { observerOf: (call: ToolContext) => runs.of(call), observeNested };
  return {
    ...(provider !== undefined && { provider: observeProvider(provider, current) }),
    ...((events === undefined || isEmitter(events)) && { events: new ObservedEmitter(events, runs) }),
    ...(registry !== undefined && { tools: observeRegistry(registry, ports) }),
    ...(isRecord(hooks) && { hooks: observeHooks(hooks, current) }),
  };
}

interface Source {
  readonly options: NestedLoopOptions;
  readonly registry: ToolRegistry | undefined;
}

/** The live runs over one set of options: one, or as many as are started at once. */
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

  /** Who watches the run whose iteration began last: a stream is opened right behind the start of its iteration. */
  get current(): RunObserver | undefined {
    return this.#current;
  }

  hears(type: LoopEventType): boolean {
    return type === "run-start" || (this.#live.size > 0 && this.#heard.has(type));
  }

  take(event: LoopEvent): void {
    // What runs inside calls tell is heard where they are watched.
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

  /** Asked for the key only where there are several: the key of a call begins with the id of its run. */
  of(call: ToolContext): RunObserver | undefined {
    if (this.#live.size < 2) return this.#live.values().next().value;
    const { idempotencyKey } = call;
    const ids = [...this.#live.keys()].filter((runId) => idempotencyKey.startsWith(`${runId}/`));
    const [nearest = ""] = ids.sort((a, b) => b.length - a.length);
    return this.#live.get(nearest);
  }

  close({ runId, failure }: ClosedRun): void {
    const observer = this.#live.get(runId);
    if (observer === undefined) return;
    this.#live.delete(runId);
    if (this.#current === observer) this.#current = undefined;
    observer.close(failure);
  }
}
