// The connection breaks in the middle of a sentence, after a tool has run. The result keeps everything that had arrived.

import assert from "node:assert/strict";
import { defineTool, runToolLoop } from "turnwright";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";
import { line, type Strip } from "./strip.ts";

export async function losesNothing(): Promise<Strip> {
  const look = defineTool({
    name: "find_causes",
    description: "Finds the causes of a fault",
    inputSchema: { type: "object" },
    execute: () => ["rust", "overload"],
  });
  const {
    status,
    reason,
    text: said,
    functionHistory,
    usage: used,
    messages,
  } = await runToolLoop({
    provider: createMockProvider([
      [usage({ inputTokens: 50, outputTokens: 10 }), toolCall("find_causes")],
      [
        usage({ inputTokens: 80, outputTokens: 12 }),
        text("The bridge fell for two reasons: rust and"),
        fail(new TypeError("terminated")),
      ],
    ]),
    tools: [look],
    messages: [{ role: "user", content: "Why did the bridge fall?" }],
  });
  assert.ok(reason.kind === "provider-error");
  const roles = messages.map(({ role }) => role);
  const [called] = functionHistory;
  assert.deepEqual([status, said, used.totalTokens], ["error", "The bridge fell for two reasons: rust and", 152]);
  assert.deepEqual([called?.functionCall.name, roles], ["find_causes", ["user", "assistant", "tool", "assistant"]]);
  return {
    promise: "It loses nothing",
    frames: [
      {
        when: "request 1",
        title: "A tool runs",
        lines: [line("tool", "find_causes()"), line("quiet", '["rust", "overload"]')],
      },
      {
        when: "request 2",
        title: "The answer streams",
        lines: [line("model", said)],
      },
      { when: "request 2", title: "The connection breaks", lines: [line("danger", "TypeError: terminated")] },
      {
        when: "result",
        title: "All of it is kept",
        lines: [
          line("result", "text: The bridge ..."),
          line("result", `tool results: ${functionHistory.length}`),
          line("result", `usage: ${used.totalTokens} tokens`),
          line("quiet", `reason: ${reason.kind}`),
        ],
      },
    ],
  };
}
