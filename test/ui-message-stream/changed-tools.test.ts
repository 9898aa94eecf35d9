import { describe, expect, it } from "vitest";
import {
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  streamToolLoop,
} from "turnwright";
import { createAGUIMapper } from "turnwright/ag-ui";
import { readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { callsOf, openPage, settle } from "./page.ts";

function setUp(): { readonly ran: string[]; readonly optionsFor: (description: string) => LoopOptions } {
  const ran: string[] = [];
  const provider = createMockProvider(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? text("Paid.") : toolCall("pay"),
  );
  const optionsFor = (description: string): LoopOptions => ({
    provider,
    messages: [{ role: "user", content: "Pay." }],
    runId: "chat",
    tools: [
      { name: "pay", description, inputSchema: { type: "object" }, needsApproval: true, execute: () => ran.push(description) },
    ],
  });
  return { ran, optionsFor };
}

const copyOf = (result: LoopResult | undefined): Journal =>
  memoryJournal(result && (JSON.parse(JSON.stringify(result.journal)) as SavedJournal));

describe.each([6, 7] as const)("an AI SDK %i UI", (version) => {
  it("asks again about the same call if its tool has changed", async () => {
    const { ran, optionsFor } = setUp();
    let last: LoopResult | undefined;
    const fetch = async (_url: unknown, init: RequestInit = {}): Promise<Response> => {
      const { answers } = await readUIChatRequest(new Request("http://chat.test", init));
      const journal = copyOf(last);
      const options = optionsFor(last === undefined ? "Pays in EUR" : "Pays in USD");
      const stream = streamToolLoop({ ...options, journal, answers });
      const from = last === undefined ? "start" : "live";
      void stream.result.then((result) => (last = result));
      return toUIMessageStreamResponse(stream, { version, from });
    };
    const chat = openPage({ version, fetch });
    await chat.sendMessage({ text: "Pay." });
    for (const waiting of ["chat:call_i0_0", "chat:call_i0_0~2"]) {
      expect(callsOf(chat)).toMatchObject([{ state: "approval-requested", approval: { id: waiting } }]);
      expect(ran).toEqual([]);
      await chat.addToolApprovalResponse?.({ id: waiting, approved: true });
      await settle(chat);
    }
    expect(callsOf(chat)).toMatchObject([{ toolCallId: "chat:call_i0_0", state: "output-available" }]);
    expect(ran).toEqual(["Pays in USD"]);
  });
});

it("an AG-UI interrupt names the same call if its tool has changed", async () => {
  const { optionsFor } = setUp();
  const journal = copyOf(await runToolLoop(optionsFor("Pays in EUR")));
  const answers = { call_i0_0: { kind: "approve" as const } };
  const mapper = createAGUIMapper({ threadId: "chat", runId: "run" });
  const events = [];
  for await (const event of streamToolLoop({ ...optionsFor("Pays in USD"), journal, answers })) events.push(...mapper.map(event));
  events.push(...mapper.end());
  expect(events.at(-1)).toMatchObject({
    outcome: { interrupts: [{ id: "chat:call_i0_0~2", toolCallId: "chat:call_i0_0" }] },
  });
});
