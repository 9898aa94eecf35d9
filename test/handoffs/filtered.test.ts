import { describe, expect, it } from "vitest";
import { type LoopOptions, type LoopResult, type Message, memoryJournal, type ModelRequest, runToolLoop } from "turnwright";
import { compactMessages, createHandoffs, type HistoryFilter, withoutToolCalls } from "turnwright/middleware";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";

const identity: HistoryFilter = (messages) => messages;
const secret = "SECRET-OF-A";
const padding = "y".repeat(1_200);

interface Played {
  readonly result: LoopResult;
  readonly requests: readonly ModelRequest[];
  readonly summaries: readonly ModelRequest[];
}

/** Agent a makes `before` calls, and hands over to b, which makes `after` calls. A summary repeats what its request contains. */
async function playAgents(
  history: HistoryFilter | undefined,
  { before = 1, after = 0, when, ...more }: { before?: number; after?: number; when?: number | undefined } & Partial<LoopOptions>,
): Promise<Played> {
  const requests: ModelRequest[] = [];
  const summaries: ModelRequest[] = [];
  const provider = createMockProvider((request): MockMessage => {
    const copy = { ...request, messages: request.messages };
    const size = usage({ inputTokens: Math.ceil(JSON.stringify(request.messages).length / 4), outputTokens: 1 });
    if (request.purpose === "summary") {
      summaries.push(copy);
      return [text(JSON.stringify(request.messages).includes(secret) ? `It is ${secret}.` : "A summary."), size];
    }
    requests.push(copy);
    const { iteration } = request;
    if (iteration < before) return [toolCall("look"), size];
    if (iteration === before) return [toolCall("transfer_to_b"), size];
    return [iteration <= before + after ? toolCall("work") : text("Done."), size];
  });
  const look = tool("look", () => `${secret} ${padding}`, { replay: "safe" });
  const work = tool("work", () => padding, { replay: "safe" });
  const handoffs = createHandoffs({
    start: "a",
    agents: { a: { description: "A", tools: [look], handoffs: ["b"] }, b: { description: "B", tools: [work], history } },
  });
  const compaction = when === undefined ? undefined : compactMessages({ when, keep: 50 });
  const messages: readonly Message[] = [{ role: "user", content: "Help." }];
  const result = await runToolLoop({ provider, messages, tools: handoffs.tools, middleware: [handoffs, compaction], ...more });
  return { result, requests, summaries };
}

const fails = (): never => {
  throw new Error("no");
};
const isAnswered = { status: "completed", reason: { kind: "answered" }, agent: "b" };

describe("an agent with the filter", () => {
  it.for<[title: string, history: HistoryFilter]>([
    ["() => []", () => []],
    ["(m) => m.slice(-1)", (messages) => messages.slice(-1)],
    ["(m) => m.slice(-2)", (messages) => messages.slice(-2)],
    ["withoutToolCalls(m).slice(1)", (messages) => withoutToolCalls(messages).slice(1)],
    ["withoutToolCalls", withoutToolCalls],
    ["(m) => m", identity],
  ])("%s answers, with and without a summary of later messages", async ([, history]) => {
    for (const when of [undefined, 700]) {
      const { result, requests, summaries } = await playAgents(history, { after: 4, when });
      expect([result, summaries.length > 0]).toMatchObject([isAnswered, when !== undefined]);
      for (const { messages } of requests) expect(messages.length).toBeGreaterThan(0);
    }
  });

  it("() => [] receives the last user message, because a request needs one", async () => {
    const { requests } = await playAgents(() => [], {});
    expect(requests.at(-1)?.messages).toEqual([{ role: "user", content: "Help." }]);
  });

  it.for<[title: string, history: unknown, message: string]>([
    ["throws", fails, "no"],
    ["does not return an array", () => undefined, "must return an array of messages"],
    ["returns an array of other values", () => [1], "is not an object"],
  ])('that %s ends the run with the reason "hook-failed"', async ([, history, message]) => {
    const { result } = await playAgents(history as HistoryFilter, {});
    expect(result).toMatchObject({ reason: { kind: "hook-failed", hook: "handoffs.request" } });
    expect(result.error?.message).toContain(message);
  });
});

describe("a summary for an agent whose filter hides messages", () => {
  const without = (list: readonly ModelRequest[], result: LoopResult): unknown => {
    const since = result.handoffs?.[0]?.iteration ?? Infinity;
    return list.filter(({ iteration, messages }) => iteration > since && JSON.stringify(messages).includes(secret));
  };

  it.for([
    ["a summary before the handoff", 4, 0],
    ["a summary after the handoff", 1, 4],
    ["summaries before and after the handoff", 4, 4],
  ] as const)("does not repeat the hidden messages, with %s", async ([, before, after]) => {
    const { result, requests, summaries } = await playAgents(withoutToolCalls, { before, after, when: 700 });
    expect(result).toMatchObject(isAnswered);
    expect(summaries.length).toBeGreaterThan(0);
    expect([without(requests, result), without(summaries, result)]).toEqual([[], []]);
  });

  it("is not accompanied by the hidden user messages", async () => {
    const hidden: HistoryFilter = () => [{ role: "user", content: "Ask politely." }];
    const { result, requests } = await playAgents(hidden, { after: 4, when: 700 });
    expect(result).toMatchObject({ ...isAnswered, compaction: { kept: [] } });
    for (const { messages, iteration } of requests) if (iteration > 1) expect(JSON.stringify(messages)).not.toContain("Help.");
  });

  it("is the same in a replay", async () => {
    const journal = memoryJournal();
    const { result, requests } = await playAgents(withoutToolCalls, { before: 4, after: 4, when: 700, journal, runId: "r" });
    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
    const again = await playAgents(withoutToolCalls, {
      before: 4,
      after: 4,
      when: 700,
      journal: replayJournal(saved),
      runId: "r",
    });
    expect([again.requests, again.result.messages, again.result.compaction]).toEqual([[], result.messages, result.compaction]);
    expect(requests.length).toBe(10);
  });
});
