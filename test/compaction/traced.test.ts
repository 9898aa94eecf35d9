import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { tracing } from "turnwright/observe";
import { text, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { setUpTracing } from "../tracing/stage.ts";
import { scriptModel } from "./compaction-stage.ts";
import { addWatchers } from "../add-watchers.ts";

describe("a compaction in a run with tracing", () => {
  it("has a chat span with usage and cost, and an event in the run's span", async () => {
    const stage = setUpTracing();
    const summary = [text("Short."), usage({ inputTokens: 900, outputTokens: 30 })];
    const { provider } = scriptModel({ calls: 5, summary: () => summary });
    const options = {
      provider,
      tools: [tool("search", () => "x".repeat(4_000))],
      messages: [{ role: "user" as const, content: "Go." }],
      pricing: () => 0.25,
      middleware: [compactMessages({ when: 3_500, keep: 1_500 })],
    };
    const result = await runToolLoop(addWatchers(options, tracing(stage.options)));
    const spans = stage.spans();
    const run = spans.find(({ name }) => name === "invoke_agent");
    const written = spans.filter(({ attributes }) => attributes["turnwright.request.purpose"] === "summary");
    expect(written.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual([
      ["chat mock-model", run?.spanContext().spanId],
    ]);
    expect(written[0]?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "mock",
      "gen_ai.usage.input_tokens": 900,
      "turnwright.usage.cost_usd": 0.25,
      "turnwright.iteration": 4,
    });
    expect(run?.events.map(({ name, attributes }) => [name, attributes?.["turnwright.compaction.outcome"]])).toEqual([
      ["turnwright.compaction_end", "compacted"],
    ]);
    const metrics = await stage.metrics();
    const input = metrics.filter(([name]) => name === "gen_ai.client.inference.usage.input_tokens");
    expect(input.reduce((sum, [, , count]) => sum + count, 0)).toBe(result.usage.inputTokens);
  });
});
