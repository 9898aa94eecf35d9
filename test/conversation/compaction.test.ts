import { describe, expect, it } from "vitest";
import { defineTool, memoryJournal, type Journal, type ModelRequest } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { show } from "./stage.ts";

const long = "word ".repeat(400);
const isSummaryRequest = ({ purpose }: ModelRequest): boolean => purpose === "summary";

function open(id = "chat-17") {
  const summaries: ModelRequest[] = [];
  const sent: (readonly string[])[] = [];
  const provider = createMockProvider((request) => {
    if (isSummaryRequest(request)) {
      summaries.push(request);
      return [text(`The summary ${summaries.length}.`)];
    }
    sent.push(show(request.messages).map((line) => line.replace(long, "")));
    const last = request.messages.at(-1);
    const wantsPay = last?.role === "user" && typeof last.content === "string" && last.content.startsWith("Pay");
    return wantsPay ? [toolCall("pay")] : [text(`Yes. ${long}`)];
  });
  const pay = defineTool({
    name: "pay",
    description: "Pays a bill",
    inputSchema: { type: "object" },
    needsApproval: true,
    execute: () => "paid",
  });
  const journals = new Map<string, Journal>();
  const journal = (runId: string): Journal => {
    const known = journals.get(runId) ?? memoryJournal();
    journals.set(runId, known);
    return known;
  };
  const store = memoryConversationStore();
  const middleware = [compactMessages({ when: 2_000, keep: 700 })];
  const make = () => createConversation({ id, store, journal, options: { provider, tools: [pay], middleware } });
  return { make, store, summaries, sent };
}

const isSummary = (line: string): boolean => /The summary \d/.test(line);

async function fill(stage: ReturnType<typeof open>): Promise<void> {
  const rules = { role: "user", content: "Always be polite.", pinned: true } as const;
  await stage.make().send([rules, { role: "user", content: "Question 1" }]);
  for (let round = 2; stage.summaries.length === 0 && round < 10; round += 1) await stage.make().send(`Question ${round}`);
  expect(stage.summaries.length).toBe(1);
}

describe("a conversation with compactMessages", () => {
  it("begins each run with the summary of the earlier runs, and keeps the whole transcript", async () => {
    const stage = open();
    await fill(stage);
    await stage.make().send("And now?");
    const last = stage.sent.at(-1) ?? [];
    expect([last[0], last.filter(isSummary).length, stage.summaries.length]).toEqual(["user: Always be polite.", 1, 1]);
    const messages = show(await stage.make().messages());
    expect(messages.length).toBeGreaterThan(last.length);
    expect(messages.filter(isSummary)).toEqual([]);
    expect(messages[1]).toBe("user: Question 1");
  });

  it("begins a resumed run with the same summary as before", async () => {
    const stage = open();
    await fill(stage);
    const conversation = stage.make();
    const { reason } = await conversation.send(`Pay it. ${long}${long}${long}`);
    const [call] = "calls" in reason ? reason.calls : [];
    const result = await stage.make().resume({ answers: { [call?.id ?? ""]: { kind: "approve" } } });
    expect([result.status, result.pendingCalls]).toEqual(["completed", []]);
    // The run had written a second summary before it was suspended. The resumed run replays that summary.
    expect(stage.summaries.length).toBe(2);
    const { state } = (await stage.store.load("chat-17")) ?? {};
    expect([state?.compaction?.summary, state?.lastRun?.compaction?.summary]).toEqual(["The summary 1.", "The summary 2."]);
    await stage.make().send("And now?");
    expect(stage.sent.at(-1)?.filter(isSummary).length).toBe(1);
  });

  it("passes the summary on to a fork that contains all summarized messages", async () => {
    const stage = open();
    await fill(stage);
    const conversation = stage.make();
    const { count = 0 } = (await stage.store.load("chat-17"))?.state.lastRun?.compaction ?? {};
    await (await conversation.fork("late")).send("And now?");
    expect(stage.sent.at(-1)?.filter(isSummary).length).toBe(1);
    await (await conversation.fork("early", { atMessage: 3 })).send("And now?");
    expect([count > 3, stage.sent.at(-1)]).toEqual([
      true,
      [...show((await conversation.messages()).slice(0, 3)), "user: And now?"].map((line) => line.replace(long, "")),
    ]);
  });
});
