import dc from "node:diagnostics_channel";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { describe, expect, it } from "vitest";
import { type LoopOptions, memoryJournal, runToolLoop, withFallback } from "turnwright";
import { diagnostics, tracing } from "turnwright/observe";
import { journalToRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, fail, finish, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { addWatchers } from "../add-watchers.ts";

const needle = "aB3dE5fG7h";
const key = `sk-proj-${needle.repeat(5)}`;
const short = key.slice(0, 60);
const done = text("Done.");

const runs: readonly (readonly [what: string, options: Partial<LoopOptions>])[] = [
  ["a model", { provider: createMockProvider([done], { model: key }) }],
  ["a provider", { provider: createMockProvider([done], { id: key }) }],
  ["a run", { provider: createMockProvider([done]), runId: key }],
  ["a tool", { provider: createMockProvider([toolCall(short), done]), tools: [tool(short, () => 1)] }],
  ["a finish reason", { provider: createMockProvider([[done, finish("stop", { raw: key })]]) }],
  ["a stop sequence", { provider: createMockProvider([done]), modelSettings: { stopSequences: [key] } }],
  ["a conversation", { provider: createMockProvider([done]), session: { userId: key, conversationId: key } }],
  [
    "an attempt",
    { provider: withFallback([createMockProvider([fail({ status: 503 })], { model: key }), createMockProvider([done])]) },
  ],
];

const channels = ["run", "iteration", "tool"].flatMap((what) =>
  ["start", "end", "asyncStart", "asyncEnd", "error"].map((step) => `tracing:turnwright:${what}:${step}`),
);

describe("a credential used as the name of", () => {
  it.for(runs)("%s appears in no log, span, metric or diagnostics message", async ([, options]) => {
    const seen: string[] = [];
    const listen = (message: unknown): void => void seen.push(JSON.stringify(message));
    for (const channel of channels) dc.subscribe(channel, listen);
    const exporter = new InMemorySpanExporter();
    const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("test");
    const journal = memoryJournal();
    const given = {
      provider: createMockProvider([done]),
      messages: [{ role: "user", content: "Go." }],
      journal,
      ...options,
    } as const;
    const traced = addWatchers(addWatchers(given, diagnostics()), tracing({ tracer }));
    await runToolLoop(addWatchers(traced, runLog({ to: { write: (line: string) => void seen.push(line) } })));
    for (const channel of channels) dc.unsubscribe(channel, listen);
    seen.push(await journalToRunLog(journal));
    const spans = exporter.getFinishedSpans();
    for (const { name, attributes, events } of spans) seen.push(JSON.stringify({ name, attributes, events }));
    expect([spans.length > 1, seen.length > 10]).toEqual([true, true]);
    expect(seen.filter((line) => line.includes(needle))).toEqual([]);
  });
});
