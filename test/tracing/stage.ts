import { AsyncLocalStorage } from "node:async_hooks";
import { type Attributes, type Context, context, type ContextManager, ROOT_CONTEXT, SpanStatusCode } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { TracingOptions } from "../../src/observe/tracing/tracing-options.ts";

/** Keeps the active context across `await`. */
class StoredContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  readonly with: ContextManager["with"] = (active, fn, ...[thisArg, ...args]) =>
    this.#storage.run(active, () => fn.apply(thisArg, args));

  bind<Target>(_active: Context, target: Target): Target {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}

/** Returns a function that removes the context manager. */
export function keepContexts(): () => void {
  context.setGlobalContextManager(new StoredContexts());
  return () => context.disable();
}

export interface TracingStage {
  readonly options: TracingOptions;
  spans(): readonly ReadableSpan[];
  started(): number;
  /** Formats the spans as a tree, in the order of their starts. Each line shows the attributes in `shown`. */
  tree(shown?: readonly string[]): string;
  /** Returns the attributes and the count of each measurement. The count of a counter is its sum. */
  metrics(): Promise<readonly (readonly [name: string, attributes: Attributes, count: number])[]>;
  readonly provider: BasicTracerProvider;
}

export function setUpTracing(more: TracingOptions = {}): TracingStage {
  const exporter = new InMemorySpanExporter();
  let started = 0;
  const order = new Map<string, number>();
  const counter: SpanProcessor = {
    onStart: (span) => void order.set(span.spanContext().spanId, (started += 1)),
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new BasicTracerProvider({ spanProcessors: [counter, new SimpleSpanProcessor(exporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 30 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    options: { tracerProvider: provider, meterProvider, ...more },
    provider,
    spans: () => exporter.getFinishedSpans(),
    started: () => started,
    tree: (shown) => {
      const place = (span: ReadableSpan): number => order.get(span.spanContext().spanId) ?? 0;
      return toTree(
        [...exporter.getFinishedSpans()].sort((a, b) => place(a) - place(b)),
        shown,
      );
    },
    metrics: async () => {
      await reader.forceFlush();
      const scopes = metricExporter.getMetrics().at(-1)?.scopeMetrics ?? [];
      await meterProvider.shutdown();
      return scopes.flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => [descriptor.name, attributes, countOf(value)] as const),
        ),
      );
    },
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" ? value : (value as { readonly count: number }).count;
}

const statuses = { [SpanStatusCode.UNSET]: "", [SpanStatusCode.OK]: " ok", [SpanStatusCode.ERROR]: " !" };

function toTree(spans: readonly ReadableSpan[], shown: readonly string[] = []): string {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const lines = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return (id !== undefined && ids.has(id) ? id : undefined) === parent;
      })
      .flatMap((span) => [
        `${"  ".repeat(depth)}${describe(span, shown)}`,
        ...span.events.map((event) => `${"  ".repeat(depth + 1)}- ${event.name}`),
        ...lines(span.spanContext().spanId, depth + 1),
      ]);
  return lines(undefined, 0).join("\n");
}

function describe({ name, status, attributes }: ReadableSpan, shown: readonly string[]): string {
  const error = attributes["error.type"] === undefined ? "" : ` ${JSON.stringify(attributes["error.type"])}`;
  const facts = shown.flatMap((key) => (attributes[key] === undefined ? [] : [` ${key}=${JSON.stringify(attributes[key])}`]));
  return `${name}${statuses[status.code]}${error}${facts.join("")}`;
}
