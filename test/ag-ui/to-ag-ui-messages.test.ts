import { MessageSchema } from "@ag-ui/core/schemas";
import { MessageSchema as OldMessageSchema } from "ag-ui-client-0";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { Message } from "turnwright";
import { type AGUIMessage, toAGUIMessages, toAGUIThread } from "turnwright/ag-ui";
import { plans } from "../loop/random-run.ts";
import { runPlan } from "../loop/run-plan.ts";
import { setUpPayment } from "../ui-message-stream/payment.ts";
import { openAgent, type PageMessage, resultsOf, textOf, versions } from "./clients.ts";
import { type PageServer, serve } from "./page-server.ts";

const servers: PageServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

function check(messages: readonly AGUIMessage[]): void {
  for (const message of messages) {
    for (const schema of [MessageSchema, OldMessageSchema])
      expect({ message, issues: schema.safeParse(message).error?.issues }).toEqual({ message, issues: undefined });
  }
}

const facts = (messages: readonly PageMessage[]): readonly unknown[] =>
  messages.map(({ role, content, toolCallId, toolCalls }) => [role, content ?? "", toolCallId, toolCalls]);

describe("toAGUIMessages", () => {
  it.each(versions)("returns the messages that an AG-UI %s client has after the run", async (version) => {
    const { ran, run } = setUpPayment();
    const server = await serve({ run, version });
    servers.push(server);
    const threadId = `snapshot-${version}`;
    const page = openAgent(version, { url: server.url, threadId });
    page.addMessage({ id: "u1", role: "user", content: "Buy tea." });
    await page.runAgent();
    const waiting = toAGUIMessages(await server.host.status(threadId));
    check(waiting);
    expect(facts(waiting)).toEqual(facts(page.messages));
    // A second page loads the messages of the thread and answers the interrupt.
    const loaded = openAgent(version, { url: server.url, threadId, messages: waiting });
    const resume = page.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved" as const,
      payload: { approved: true },
    }));
    await loaded.runAgent({ resume });
    expect([textOf(loaded.messages), ran]).toEqual(["One moment.Paying.It is paid.", ["look tea", "pay 5"]]);
    const whole = toAGUIMessages(await server.host.status(threadId));
    check(whole);
    expect(facts(whole)).toEqual(facts(loaded.messages));
    expect([...resultsOf(whole)]).toEqual([...resultsOf(loaded.messages)]);
  });

  it("converts files, edited arguments and incomplete calls", () => {
    const messages: readonly Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "See." },
          { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
          { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjQK", filename: "bill.pdf" },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", callId: "c", name: "pay", args: {}, approvedArgs: { n: 1 } }] },
      { role: "tool", results: [{ callId: "c", name: "pay", outcome: "failed", result: { error: "no" } }] },
    ];
    const shown = toAGUIMessages({ runId: "r", messages });
    check(shown);
    const source = { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" };
    expect(shown).toEqual([
      {
        id: "r:message-0",
        role: "user",
        content: [
          { type: "text", text: "See." },
          { type: "image", source },
          {
            type: "document",
            source: { type: "data", value: "JVBERi0xLjQK", mimeType: "application/pdf" },
            metadata: { filename: "bill.pdf" },
          },
        ],
      },
      {
        id: "r:message-1",
        role: "assistant",
        toolCalls: [{ id: "r:c", type: "function", function: { name: "pay", arguments: '{"n":1}' } }],
      },
      { id: "r:c:result", role: "tool", toolCallId: "r:c", content: "The tool failed.", error: "failed" },
    ]);
    expect(toAGUIMessages(undefined)).toEqual([]);
  });

  it("for random transcripts, returns messages that are valid in both AG-UI versions", async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { messages, runId } = (await runPlan(plan)).result;
        const shown = toAGUIMessages({ runId, messages });
        check(shown);
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
        const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
        const ended = results.filter(({ outcome }) => !outcome.startsWith("awaiting"));
        expect([...resultsOf(shown).keys()]).toEqual(ended.map(({ callId }) => `${runId}:${callId}`));
      }),
      { numRuns: 100, seed: 20_260_101 },
    );
  });
});

describe("stored conversations", () => {
  const messages: readonly Message[] = [
    { role: "user", content: "Pay." },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "tool-call", callId: "c", name: "pay", args: { n: 1 }, approvedArgs: { n: 2 } },
        { type: "tool-call", callId: "d", name: "pay", args: { n: 3 } },
      ],
    },
    {
      role: "tool",
      results: [
        { callId: "c", name: "pay", outcome: "failed", result: { error: "connect ECONNREFUSED db.internal:5432" } },
        { callId: "d", name: "pay", outcome: "completed", result: "Paid." },
      ],
    },
  ];
  const status = { runId: "r", isLive: false, messages };
  const options = { sendReasoning: false, onError: ({ kind }: { readonly kind: string }) => `A ${kind} failed.` };

  it("toAGUIMessages and toAGUIThread: show approved arguments, and no messages of errors", () => {
    for (const shown of [toAGUIMessages(status), toAGUIThread(status).messages]) {
      const text = JSON.stringify(shown);
      expect([text.includes("ECONNREFUSED"), text.includes("Hm.")]).toEqual([false, true]);
      for (const part of ['{\\"n\\":2}', '{\\"n\\":3}', "The tool failed.", "Paid."]) expect(text).toContain(part);
      expect(text).not.toContain('{\\"n\\":1}');
    }
  });

  it("toAGUIMessages and toAGUIThread: take the options of the stream", () => {
    for (const shown of [toAGUIMessages(status, options), toAGUIThread(status, options).messages]) {
      const text = JSON.stringify(shown);
      expect([text.includes("Hm."), text.includes("A tool failed."), text.includes("The tool failed.")]).toEqual([
        false,
        true,
        false,
      ]);
    }
    const misspelt = { onErrors: () => "" } as object;
    for (const convert of [toAGUIMessages, toAGUIThread])
      expect(() => convert(status, misspelt)).toThrow(expect.objectContaining({ code: "unknown-option" }));
  });
});
