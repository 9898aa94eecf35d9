// A run reaches its limit in USD before the work is done. The result says so, in numbers.

import assert from "node:assert/strict";
import { defineTool, type Pricing, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { line, type Strip } from "./strip.ts";

export async function saysWhy(): Promise<Strip> {
  const pricing: Pricing = ({ inputTokens, outputTokens }) => (inputTokens * 1.25 + outputTokens * 10) / 1_000_000;
  const read = defineTool({
    name: "read_chapter",
    description: "Reads a chapter",
    inputSchema: { type: "object" },
    execute: () => "It was a dark night.",
  });
  const chapter = (done: string) => [text(done), toolCall("read_chapter"), usage({ inputTokens: 24_000, outputTokens: 1_000 })];
  const result = await runToolLoop({
    provider: createMockProvider([1, 2, 3].map((number) => chapter(`I have read chapter ${number}.`))),
    tools: [read],
    messages: [{ role: "user", content: "Summarize the book." }],
    pricing,
    limits: { maxCostUSD: 0.1 },
  });
  const { status, reason, iterations, text: said } = result;
  assert.ok(reason.kind === "max-cost");
  const { limitUSD, spentUSD, expectedUSD = 0 } = reason;
  assert.deepEqual(
    [status, iterations, said, limitUSD, spentUSD, expectedUSD],
    ["error", 2, "I have read chapter 2.", 0.1, 0.08, 0.04],
  );
  return {
    promise: "It says why",
    frames: [
      {
        when: "request 1",
        title: "The run has a limit",
        lines: [
          line("user", `maxCostUSD: ${limitUSD}`),
          line("model", "I have read chapter 1."),
          line("quiet", "0.04 USD spent"),
        ],
      },
      {
        when: "request 2",
        title: "The second one fits",
        lines: [line("tool", "read_chapter()"), line("model", said), line("quiet", `${spentUSD} USD spent`)],
      },
      {
        when: "request 3",
        title: "It would cost too much",
        lines: [line("danger", `${expectedUSD} USD expected: it is not sent.`)],
      },
      {
        when: "result",
        title: "The result says so",
        lines: [
          line("result", `reason: ${reason.kind}`),
          line("quiet", `spentUSD: ${spentUSD}`),
          line("quiet", `text: "${said}"`),
        ],
      },
    ],
  };
}
