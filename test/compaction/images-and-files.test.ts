import { describe, expect, it } from "vitest";
import { maskResults, type Message, runToolLoop, toolResult } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, providerMetadata, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { answersOf, tool } from "../loop/play.ts";

const pdf = btoa(`%PDF-1.7\n${"x".repeat(600_000)}`);
const jpeg = btoa(`\u00ff\u00d8\u00ff\u00e0${"x".repeat(900_000)}`);
const file = { type: "file", mediaType: "application/pdf", data: pdf, filename: "report.pdf" } as const;
const size = usage({ inputTokens: 20_000, outputTokens: 10 });
/** All tokens are estimated. */
const unknown = usage({ inputTokens: 0, outputTokens: 0 });

async function summariesOf(messages: readonly Message[], script: readonly MockMessage[]): Promise<readonly unknown[]> {
  const summaries: unknown[] = [];
  const turns = [...script];
  const provider = createMockProvider((request) => {
    if (request.purpose === "summary") return (summaries.push(request.messages), text("A summary."));
    return turns.shift() ?? text("Done.");
  });
  const middleware = [compactMessages({ when: 0.8, contextWindow: 128_000 })];
  const read = tool("read", () => toolResult({ data: "Here it is.", content: [file] }));
  const result = await runToolLoop({ provider, tools: [read], messages, middleware });
  expect(result.status).toBe("completed");
  return summaries;
}

describe("compactMessages with a context window of 128,000 tokens", () => {
  it.for<[what: string, messages: readonly Message[], script: readonly MockMessage[]]>([
    [
      "a 600 kB PDF in a message",
      [{ role: "user", content: [{ type: "text", text: "Read." }, file] }],
      [toolCall("read"), text("Done.")],
    ],
    [
      "a 600 kB PDF in a result",
      [{ role: "user", content: "Read." }],
      [
        [toolCall("read"), size],
        [toolCall("read"), size],
      ],
    ],
    [
      "a 900 kB image in provider metadata",
      [{ role: "user", content: "Draw." }],
      [
        [providerMetadata({ inlineData: { mimeType: "image/jpeg", data: jpeg } }), toolCall("read"), unknown],
        [toolCall("read"), unknown],
      ],
    ],
  ])("requests no summary because of %s", async ([, messages, script]) => {
    expect(await summariesOf(messages, script)).toEqual([]);
  });
});

it("maskResults counts a PDF by its pages", async () => {
  const provider = createMockProvider([toolCall("read"), text("Done.")]);
  const read = tool("read", () =>
    toolResult({ data: "Here it is.", content: [{ ...file, data: btoa("%PDF-1.7 << /Type /Page >>") }] }),
  );
  const middleware = [maskResults({ keepIterations: 0, minTokens: 1_000, batchOf: 1 })];
  const result = await runToolLoop({ provider, tools: [read], messages: [{ role: "user", content: "Read." }], middleware });
  expect(answersOf(result)[0]?.outcome).toBe("completed");
  expect(JSON.stringify(provider.requests[1]?.messages.at(-1))).toContain("left out: 2,0");
});
