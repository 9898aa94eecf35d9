import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AssistantMessage, type Message, maskResults, runToolLoop, type ToolMessage, type UserMessage } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { outline } from "./compaction-stage.ts";

interface Turn {
  readonly said: number;
  readonly pinned: boolean;
  readonly iterations: readonly (readonly number[])[];
  readonly answers: boolean;
}

/** Sizes of texts in tokens. Most are small, and some exceed the number of tokens that a compaction may keep. */
const size = fc.oneof({ weight: 4, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.integer({ min: 500, max: 900 }) });

const turn: fc.Arbitrary<Turn> = fc.record({
  said: size,
  pinned: fc.boolean(),
  iterations: fc.array(fc.array(size, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
  answers: fc.boolean(),
});

function toMessages(turns: readonly Turn[]): readonly Message[] {
  let calls = 0;
  return turns.flatMap(({ said, pinned, iterations, answers }, index): readonly Message[] => {
    const user: UserMessage = { role: "user", content: `user ${index} ${"u".repeat(said * 4)}`, ...(pinned ? { pinned } : {}) };
    const chain = iterations.flatMap((sizes): readonly Message[] => {
      const ids = sizes.map(() => `h${(calls += 1)}`);
      const assistant: AssistantMessage = {
        role: "assistant",
        content: ids.map((callId) => ({ type: "tool-call", callId, name: "look", args: {} })),
      };
      const results: ToolMessage = {
        role: "tool",
        results: ids.map((callId, at) => ({
          callId,
          name: "look",
          outcome: "completed",
          result: "r".repeat((sizes[at] ?? 0) * 4),
        })),
      };
      return [assistant, results];
    });
    const answer: AssistantMessage = { role: "assistant", content: [{ type: "text", text: `answer ${index}` }] };
    return [user, ...chain, ...(answers ? [answer] : [])];
  });
}

/** Checks that each call of a request has exactly one result, directly after its message, in call order. */
function expectPairs(messages: readonly Message[]): void {
  messages.forEach((message, index) => {
    const next = messages[index + 1];
    const calls =
      message.role === "assistant" ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : [])) : [];
    const results = next?.role === "tool" ? next.results.map(({ callId }) => callId) : [];
    expect(results).toEqual(calls);
  });
}

const isSummary = (message: Message | undefined): boolean =>
  message !== undefined && outline([message])[0]?.startsWith("summary") === true;

describe("compactMessages with random transcripts", () => {
  it("keeps pinned messages, and each call together with its result", async () => {
    const scenes = fc.record({
      turns: fc.array(turn, { minLength: 1, maxLength: 8 }),
      when: fc.integer({ min: 200, max: 2_000 }),
      share: fc.double({ min: 0.05, max: 0.9, noNaN: true }),
      live: fc.array(fc.array(size, { minLength: 1, maxLength: 3 }), { maxLength: 8 }),
      summary: fc.integer({ min: 1, max: 40 }),
    });
    let summaries = 0;
    await fc.assert(
      fc.asyncProperty(scenes, async ({ turns, when, share, live, summary }) => {
        const history = toMessages(turns);
        const messages: Message[] = [...history, { role: "user", content: "The question." }];
        const requests: (readonly Message[])[] = [];
        const provider = createMockProvider((request) => {
          if (request.purpose === "summary") return text("s".repeat(summary * 4));
          requests.push(request.messages);
          const sizes = live[request.iteration];
          return sizes === undefined ? text("Done.") : sizes.map((tokens) => toolCall("look", { tokens }));
        });
        const keep = Math.max(2, Math.floor(when * share));
        const result = await runToolLoop({
          provider,
          messages,
          tools: [tool("look", (args) => "l".repeat((args as { readonly tokens: number }).tokens * 4))],
          middleware: [compactMessages({ when, keep: Math.min(keep, when - 1) })],
        });
        expect([result.status, result.messages.slice(0, messages.length)]).toEqual(["completed", messages]);
        let breaks = 0;
        requests.forEach((sent, index) => {
          expectPairs(sent);
          for (const message of messages)
            if (message.role === "user" && message.pinned === true) expect(sent).toContainEqual(message);
          expect(sent).toContainEqual({ role: "user", content: "The question." });
          expect(sent.filter(isSummary).length).toBeLessThanOrEqual(1);
          const before = requests[index - 1];
          const isSame = before === undefined || before.every((message, at) => sent[at] === message);
          if (!isSame) breaks += 1;
        });
        const compactions = result.journal as unknown as {
          toJSON(): { readonly steps: { readonly [key: string]: { readonly value?: { readonly kind?: string } } } };
        };
        const done = Object.entries(compactions.toJSON().steps).filter(
          ([key, { value }]) => key.endsWith("/@compaction/summary") && value?.kind === "compacted",
        );
        expect(breaks).toBeLessThanOrEqual(done.length);
        summaries += done.length;
      }),
      { numRuns: 40 },
    );
    expect(summaries).toBeGreaterThan(40);
  });

  it("keeps each call waiting for approval, and its result after the decision", async () => {
    const scenes = fc.record({
      turns: fc.array(turn, { minLength: 1, maxLength: 6 }),
      waiting: fc.integer({ min: 1, max: 3 }),
      when: fc.integer({ min: 200, max: 1_000 }),
    });
    await fc.assert(
      fc.asyncProperty(scenes, async ({ turns, waiting, when }) => {
        const messages: Message[] = [...toMessages(turns), { role: "user", content: "The question." }];
        const requests: (readonly Message[])[] = [];
        const provider = createMockProvider((request) => {
          if (request.purpose === "summary") return text("Short.");
          requests.push(request.messages);
          return request.iteration === 0
            ? Array.from({ length: waiting }, (_, at) => toolCall("pay", { at }, { id: `w${at}` }))
            : text("Paid.");
        });
        const pay = tool("pay", () => "p".repeat(4_000), { needsApproval: true });
        const options = { provider, messages, tools: [pay], middleware: [compactMessages({ when, keep: 100 })] };
        const first = await runToolLoop(options);
        expect(first.reason.kind).toBe("approval-required");
        const calls = first.reason.kind === "approval-required" ? first.reason.calls : [];
        const answers = Object.fromEntries(calls.map(({ id }) => [id, { kind: "approve" as const }]));
        const { journal } = first;
        const second = await runToolLoop({ ...options, runId: first.runId, journal, answers });
        expect(second.status).toBe("completed");
        const sent = requests.at(-1) ?? [];
        expectPairs(sent);
        const results = sent.flatMap((message) => (message.role === "tool" ? message.results : []));
        expect(results.filter(({ name }) => name === "pay").map(({ callId, outcome }) => [callId, outcome])).toEqual(
          Array.from({ length: waiting }, (_, at) => [`w${at}`, "completed"]),
        );
      }),
      { numRuns: 30 },
    );
  });

  it("keeps each call with its result if the run also masks results", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 4 }),
        fc.array(size, { minLength: 5, maxLength: 20 }),
        async (turns, live) => {
          const requests: (readonly Message[])[] = [];
          const provider = createMockProvider((request) => {
            if (request.purpose === "summary") return text("Short.");
            requests.push(request.messages);
            const tokens = live[request.iteration];
            return tokens === undefined ? text("Done.") : toolCall("look", { tokens });
          });
          const { status } = await runToolLoop({
            provider,
            messages: [...toMessages(turns), { role: "user", content: "The question." }],
            tools: [tool("look", (args) => "l".repeat((args as { readonly tokens: number }).tokens * 4))],
            middleware: [maskResults({ keepIterations: 1, minTokens: 30 }), compactMessages({ when: 800, keep: 300 })],
          });
          expect(status).toBe("completed");
          for (const sent of requests) expectPairs(sent);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("never sends a summary request that exceeds the context window", async () => {
    const window = 3_000;
    const scenes = fc.array(fc.oneof(size, fc.integer({ min: 2_000, max: 30_000 })), { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(scenes, async (sizes) => {
        const messages: Message[] = [
          ...sizes.map((tokens, at) => ({ role: "user" as const, content: `${at} ${"é".repeat(tokens * 2)}` })),
          { role: "user", content: "The question." },
        ];
        let largest = 0;
        const provider = createMockProvider((request) => {
          if (request.purpose !== "summary") return text("Done.");
          const bytes = new TextEncoder().encode(JSON.stringify([request.system, request.messages])).length;
          largest = Math.max(largest, bytes / 4 + (request.settings?.maxOutputTokens ?? 0));
          return text("s".repeat(800));
        });
        const compaction = compactMessages({ contextWindow: window, when: 0.5, keep: 0.1, summarize: { maxOutputTokens: 200 } });
        const { status } = await runToolLoop({ provider, messages, middleware: [compaction] });
        expect(status).toBe("completed");
        expect(largest).toBeLessThanOrEqual(window);
      }),
      { numRuns: 30 },
    );
  });
});
