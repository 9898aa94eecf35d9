import type { LoopOptions } from "turnwright";
import type { TracingOptions } from "../../src/observe/tracing/tracing-options.ts";
import { reasoning, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { type Scene, trace } from "./trace.ts";

const tokens = usage({ inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, cacheWriteTokens: 10, reasoningTokens: 5 });

export function traceAll(how: TracingOptions = {}, more: Partial<LoopOptions> = {}): Scene {
  const script = [
    [reasoning("private thought"), toolCall("look", { at: "private argument" }), tokens],
    [text("private answer"), tokens],
  ];
  const options: Partial<LoopOptions> = {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "private question" },
          { type: "image", mediaType: "image/png", data: "cHJpdmF0ZQ==" },
          { type: "file", mediaType: "application/pdf", data: new URL("https://me:hidden@example.com/a.pdf") },
          { type: "file", mediaType: "audio/mpeg", data: "cHJpdmF0ZQ==" },
        ],
      },
    ],
    system: "private system",
    tools: [tool("look", () => ({ seen: "private result", token: "sk-abc12345678" }))],
    session: { conversationId: "c1" },
    runId: "r1",
    modelSettings: { temperature: 0.5, maxOutputTokens: 99, topP: 1, seed: 7, stopSequences: ["END"] },
    limits: { maxIterations: 4, maxCostUSD: 1, maxTokens: Number.POSITIVE_INFINITY },
    pricing: () => 0.01,
    ...more,
  };
  return trace(script, options, how);
}

export function attributesOf({ stage }: Scene, name: string): readonly Record<string, unknown>[] {
  return stage.spans().flatMap((span) => (span.name === name ? [span.attributes] : []));
}
