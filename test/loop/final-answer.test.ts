import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineAgentTool,
  finalAnswer,
  type LoopLimits,
  type LoopOptions,
  memoryJournal,
  onIteration,
  type SavedJournal,
  structuredOutput,
  withRetry,
} from "turnwright";
import type { FinalAnswerReserve } from "../../src/core/types/middleware-options.ts";
import {
  createMockProvider,
  failInBand,
  finish,
  type MockPart,
  type MockScript,
  text,
  toolCall,
  usage,
  wait,
} from "turnwright/testing";
import { never, outcomesOf, play, tool, type Playing } from "./play.ts";

describe("finalAnswer with a provider that pauses", () => {
  const start = (turns: readonly (readonly MockPart[])[], maxPauses: number): ReturnType<typeof play> =>
    play([[toolCall("look")], ...turns], {
      tools: [tool("look", () => 1)],
      limits: { maxIterations: 1, maxPauses },
      middleware: [finalAnswer()],
    });

  it.for(["paused", "continue"] as const)('continues an answer with the finish reason "%s"', async (reason) => {
    const playing = start([[text("Half, "), finish(reason)], [text("whole.")]], 3);
    const { reason: ending, finalAnswer, text: said, iterations } = await playing.result;
    expect([ending.kind, finalAnswer, said, iterations]).toEqual(["max-iterations", true, "Half, whole.", 1]);
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, "none", "none"]);
  });

  it("keeps the partial answer if the provider pauses more often than maxPauses", async () => {
    const { reason, text: said } = await start([[text("Half, "), finish("paused")], [text("whole.")]], 0).result;
    expect([reason, said]).toEqual([{ kind: "max-iterations", limit: 1 }, "Half,"]);
  });
});

type Reserve = { readonly tokens?: number; readonly costUSD?: number; readonly ms?: number };

const pricing = ({ totalTokens }: { readonly totalTokens: number }): number => totalTokens;
const spend = (inputTokens: number): MockPart => usage({ inputTokens, outputTokens: 0 });
const look = tool("look", () => 1);
/** Each request uses 10 tokens, which cost 10 USD, and takes 10 ms. */
const work: MockScript = ({ toolChoice }) =>
  toolChoice === "none" ? [wait(10), text("In short."), spend(10)] : [wait(10), text("Well. "), toolCall("look"), spend(10)];

function reserving(limits: LoopLimits, reserve: Reserve, more: Partial<LoopOptions> = {}): Partial<LoopOptions> {
  return { tools: [look], pricing, limits, ...more, middleware: [finalAnswer({ reserve }), ...(more.middleware ?? [])] };
}

async function endOf(playing: Playing) {
  await playing.clock.advance(20_000);
  const result = await playing.result;
  const { finalAnswer, text: said, reason, usage: used } = result;
  return { reason: reason.kind, finalAnswer, said, requests: playing.provider.calls, tokens: used.totalTokens, result };
}

describe("finalAnswer with a reserve", () => {
  it.for<[title: string, limits: LoopLimits, reserve: Reserve, reason: string, requests: number, finalAnswer: boolean]>([
    ["of tokens for one request", { maxTokens: 50 }, { tokens: 10 }, "max-tokens", 5, true],
    ["of tokens for two requests", { maxTokens: 50 }, { tokens: 20 }, "max-tokens", 4, true],
    ["of fewer tokens than a request uses", { maxTokens: 50 }, { tokens: 9 }, "max-tokens", 5, true],
    ["of one token and no room for a request", { maxTokens: 45 }, { tokens: 1 }, "max-tokens", 4, false],
    ["of the cost of one request", { maxCostUSD: 50 }, { costUSD: 10 }, "max-cost", 5, true],
    ["of less than the cost of a request", { maxCostUSD: 45 }, { costUSD: 1 }, "max-cost", 4, false],
    ["of time for one request", { wallClockMs: 45 }, { ms: 15 }, "wall-clock", 4, true],
    ["of tokens when the cost limit is reached", { maxTokens: 90, maxCostUSD: 30 }, { tokens: 10 }, "max-cost", 3, false],
    [
      "of tokens when maxIterations is reached first",
      { maxTokens: 50, maxIterations: 2 },
      { tokens: 10 },
      "max-iterations",
      3,
      true,
    ],
  ])(
    "requests a final answer only if the limits allow another request (a reserve %s)",
    async ([, limits, reserve, reason, requests, finalAnswer]) => {
      const playing = play(work, reserving(limits, reserve));
      expect(await endOf(playing)).toMatchObject({
        reason,
        requests,
        finalAnswer,
        said: finalAnswer ? "In short." : "Well.",
      });
      const choices = playing.provider.requests.map(({ toolChoice }) => toolChoice);
      expect(choices).toEqual([...Array.from({ length: requests - 1 }), finalAnswer ? "none" : undefined]);
      expect(playing.clock.pending).toBe(0);
    },
  );

  it("reports the full limit, including the reserve, as the run's reason", async () => {
    const { result } = await endOf(play(work, reserving({ maxTokens: 50 }, { tokens: 20 })));
    expect([result.status, result.reason]).toEqual(["error", { kind: "max-tokens", limit: 50, spent: 30 }]);
  });

  it("sends no more requests with tools if a request as large as the last one would use the reserve", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 12, maxLength: 12 });
    const limit = fc.integer({ min: 20, max: 120 });
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(sizes, limit, fc.integer({ min: 1, max: 19 }), fc.boolean()),
        async ([given, max, kept, isCost]) => {
          const script: MockScript = ({ toolChoice }, index) => {
            const size = spend(given[index % 12] ?? 1);
            return toolChoice === "none" ? [text("In short."), size] : [toolCall("look"), size];
          };
          const limits = { [isCost ? "maxCostUSD" : "maxTokens"]: max };
          const playing = play(script, reserving(limits, isCost ? { costUSD: kept } : { tokens: kept }));
          const { finalAnswer } = await endOf(playing);
          let spent = 0;
          let last = 0;
          for (const [index, { toolChoice }] of playing.provider.requests.entries()) {
            expect(spent + last + (toolChoice === "none" ? 0 : kept)).toBeLessThanOrEqual(max);
            last = given[index % 12] ?? 1;
            spent += last;
          }
          // If the final answer was not requested, its request would have exceeded the whole limit.
          if (!finalAnswer) expect(spent + last).toBeGreaterThan(max);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("lets a paused message use the reserve", async () => {
    const script: MockScript = [
      [text("Half, "), finish("paused"), spend(10)],
      [text("whole."), spend(10)],
    ];
    expect(await endOf(play(script, reserving({ maxTokens: 25 }, { tokens: 15 })))).toMatchObject({
      reason: "answered",
      said: "Half, whole.",
    });
  });

  it("lets a retry of the final answer's request use the reserve", async () => {
    const model = createMockProvider(({ toolChoice }, index) => {
      if (toolChoice !== "none") return [toolCall("look"), spend(10)];
      return index === 3
        ? [spend(5), failInBand({ code: "overloaded", message: "busy", name: "Busy", retryable: true })]
        : [text("In short."), spend(5)];
    });
    const provider = withRetry(model);
    const { said, tokens } = await endOf(play([], reserving({ maxTokens: 50 }, { tokens: 20 }, { provider })));
    expect([said, tokens, model.calls]).toEqual(["In short.", 40, 5]);
  });

  it("does not validate the final answer with structuredOutput", async () => {
    const output = structuredOutput(z.object({ tide: z.number() }));
    const { result } = await endOf(play(work, reserving({ maxTokens: 20 }, { tokens: 10 }, { middleware: [output] })));
    expect([result.finalAnswer, result.output]).toEqual([true, undefined]);
  });

  it("repeats the recorded decision about a final answer in a replay", async () => {
    const journal = memoryJournal();
    const options = reserving({ maxTokens: 30 }, { tokens: 10 }, { journal });
    const first = await endOf(play(work, options));
    const saved = JSON.parse(JSON.stringify(journal)) as SavedJournal;
    const replayed = play([], { ...options, journal: memoryJournal(saved) });
    expect([(await replayed.result).text, replayed.provider.calls]).toEqual([first.said, 0]);
    const resumed = play([text("Done.")], {
      ...reserving({ maxTokens: 100 }, { tokens: 10 }),
      journal: memoryJournal(saved),
    });
    const { reason, text: said, finalAnswer } = await resumed.result;
    expect([reason.kind, said, finalAnswer]).toEqual(["answered", "Done.", false]);
  });
});

describe("finalAnswer with a time reserve", () => {
  it('gives a hanging call the outcome "timed-out" when the reserve begins', async () => {
    const tools = [tool("look", () => never)];
    const playing = play(work, reserving({ wallClockMs: 1_000 }, { ms: 100 }, { tools }));
    const { result, finalAnswer, said, reason } = await endOf(playing);
    expect([finalAnswer, said, reason, playing.endedAt()]).toEqual([true, "In short.", "wall-clock", 910]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: timed-out"]);
    expect(playing.provider.requests[1]?.messages.at(-1)).toMatchObject({
      results: [{ result: { reason: "timed out after 890 ms" } }],
    });
  });

  it("lets a stream use the reserve, but runs none of the stream's calls", async () => {
    const script: MockScript = ({ toolChoice }) => (toolChoice === "none" ? [text("In short.")] : [wait(950), toolCall("look")]);
    const { result, finalAnswer } = await endOf(play(script, reserving({ wallClockMs: 1_000 }, { ms: 100 })));
    expect([finalAnswer, ...outcomesOf(result)]).toEqual([true, "call_i0_0: not-run"]);
  });

  it("stops the final answer when the full time limit, including the reserve, is reached", async () => {
    const script: MockScript = ({ toolChoice }) =>
      toolChoice === "none" ? [text("In "), wait(500), text("short.")] : [wait(950), toolCall("look")];
    const playing = play(script, reserving({ wallClockMs: 1_000 }, { ms: 100 }));
    const { result, finalAnswer, said } = await endOf(playing);
    expect([result.status, finalAnswer, said, playing.endedAt()]).toEqual(["timeout", true, "In", 1_000]);
  });

  it("grants no final answer if a hook has used up the reserve", async () => {
    const hooks = [onIteration(() => never)];
    const playing = play(work, reserving({ wallClockMs: 1_000 }, { ms: 100 }, { middleware: hooks }));
    expect(await endOf(playing)).toMatchObject({ finalAnswer: false, reason: "wall-clock", requests: 1 });
  });

  it("grants no final answer if a stream has used up the reserve", async () => {
    const playing = play([[wait(2_000), text("Late.")]], reserving({ wallClockMs: 1_000 }, { ms: 100 }));
    expect(await endOf(playing)).toMatchObject({ finalAnswer: false, reason: "wall-clock", requests: 1 });
  });
});

describe("nested runs of a run whose finalAnswer has a reserve", () => {
  const nesting = (script: MockScript, tools = [look]) =>
    defineAgentTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: [{ role: "user", content: "Look." }], provider: createMockProvider(script), tools }),
    });

  it.for<[limits: LoopLimits, reserve: Reserve, reason: string]>([
    [{ maxTokens: 100 }, { tokens: 30 }, "max-tokens"],
    [{ maxCostUSD: 100 }, { costUSD: 30 }, "max-cost"],
  ])("with the limits %j do not use the outer run's reserve %j", async ([limits, reserve, reason]) => {
    const tools = [nesting(() => [toolCall("look"), spend(10)])];
    const playing = play(work, reserving(limits, reserve, { tools }));
    expect(await endOf(playing)).toMatchObject({ reason, finalAnswer: true, requests: 2, tokens: 80 });
    const ends = playing.recording.of("run-end").map(({ path, reason: inner }) => [path?.length ?? 0, inner.kind]);
    expect(ends).toEqual([
      [1, reason],
      [0, reason],
    ]);
  });

  it("end when the time reserve begins, together with their tools", async () => {
    const tools = [nesting(() => toolCall("deaf"), [tool("deaf", () => never)])];
    const playing = play(work, reserving({ wallClockMs: 1_000 }, { ms: 100 }, { tools }));
    const { finalAnswer, result } = await endOf(playing);
    expect([finalAnswer, playing.endedAt(), ...outcomesOf(result)]).toEqual([true, 910, "call_i0_0: timed-out"]);
    expect(JSON.stringify(result.messages)).toContain("timed out after 890 ms");
  });
});

describe("finalAnswer with an invalid reserve", () => {
  it.for<[field: string, reserve: FinalAnswerReserve, limit: string, limits?: LoopLimits]>([
    ["tokens", { tokens: 5 }, "maxTokens"],
    ["ms", { ms: 10 }, "wallClockMs", { wallClockMs: 10 }],
  ])("is rejected if %s are not less than their limit", async ([field, reserve, limit, limits]) => {
    await expect(play([], { limits, middleware: [finalAnswer({ reserve })] }).result).rejects.toThrow(
      new RegExp(`Option "final-answer.reserve.${field}" is .*, but must be less than "limits.${limit}", which must be set`),
    );
  });
});

it("a run that ended with a final answer at maxToolCalls ends in the same way when it is replayed", async () => {
  const script = [toolCall("quick"), toolCall("quick"), toolCall("quick"), text("So far: 1.")];
  const options = { tools: [tool("quick", () => 1)], middleware: [finalAnswer()], limits: { maxToolCalls: 1 }, runId: "r" };
  const first = await play(script, options).result;
  expect([first.reason.kind, first.finalAnswer]).toEqual(["max-tool-calls", true]);
  const again = play([text("More.")], { ...options, journal: memoryJournal(JSON.parse(JSON.stringify(first.journal))) });
  expect([(await again.result).reason, again.provider.calls]).toEqual([first.reason, 0]);
  const higher = { ...options, limits: { maxToolCalls: 5 } };
  const on = play([text("More.")], { ...higher, journal: memoryJournal(JSON.parse(JSON.stringify(first.journal))) });
  expect((await on.result).text).toBe("More.");
});
