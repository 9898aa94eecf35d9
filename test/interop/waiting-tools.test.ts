import { tool as aiTool } from "ai";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { memoryJournal, runToolLoop } from "turnwright";
import { importTool } from "turnwright/interop";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const choose = importTool(aiTool({ inputSchema: z.object({}), outputSchema: z.object({ street: z.string() }) }), {
  name: "choose",
});

const start = (journal = memoryJournal(), answers = {}) =>
  runToolLoop({
    provider: createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("choose")] : [text("Sent.")])),
    tools: [choose],
    messages: [{ role: "user", content: "Send it." }],
    runId: "order",
    journal,
    answers,
  });

describe("importTool: an AI SDK tool without execute", () => {
  it("validates an external result with the tool's outputSchema", async () => {
    const { reason, journal } = await start();
    expect(reason).toMatchObject({
      kind: "result-required",
      calls: [{ id: "call_i0_0", name: "choose", waitsFor: "result", fromPage: true }],
    });
    const own = journal as ReturnType<typeof memoryJournal>;
    const wrong = start(own, { call_i0_0: { kind: "result", result: { street: 7 } } });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-decision" });
    const done = await start(own, { call_i0_0: { kind: "result", result: { street: "Elm" }, fromPage: true } });
    expect([done.text, done.messages.at(-2)]).toMatchObject([
      "Sent.",
      { role: "tool", results: [{ outcome: "completed", result: { street: "Elm" } }] },
    ]);
  });
});
