import { describe, expect, it } from "vitest";
import {
  approve,
  defineTool,
  type LoopOptions,
  onIteration,
  prepareIteration,
  type Provider,
  withFallback,
  withRetry,
} from "turnwright";
import { guardrails } from "turnwright/middleware";
import { createMockProvider, createTestClock, fail, reasoning, text, toolCall, usage, wait } from "turnwright/testing";
import { linesOf, logRun } from "./log-run.ts";

const start = 1_700_000_000_000;
const messages = [{ role: "user", content: "Go." }] as const;
const lookUp = defineTool({
  name: "look_up",
  description: "Looks up",
  inputSchema: { type: "object" },
  execute: () => ({ found: true }),
});

async function logTimed(options: Omit<LoopOptions, "messages">): Promise<Awaited<ReturnType<typeof logRun>>> {
  const clock = createTestClock(start);
  const logged = logRun({ messages, clock, runId: "r", ...options }, { clock });
  await clock.runAll();
  return logged;
}

describe("the run log from runLog", () => {
  it("contains the options, session and end of the run, without functions or the user id", async () => {
    const { log, lines } = await logTimed({
      provider: createMockProvider([text("Hello.")]),
      version: "1.2.3",
      limits: { maxIterations: 5, maxTokens: Infinity, onUnknownCost: "continue" },
      timeouts: { toolMs: 9 },
      middleware: [onIteration(() => undefined), approve(() => ({ kind: "approve" }))],
      session: { conversationId: "c1", userId: "user-987654", locale: "de" },
    });
    expect(log.runs[0]).toMatchObject({
      runId: "r",
      path: [],
      provider: "mock",
      model: "mock-model",
      version: "1.2.3",
      limits: { maxIterations: 5, maxTokens: "Infinity", onUnknownCost: "continue" },
      timeouts: { toolMs: 9 },
      middleware: ["on-iteration", "approve"],
      session: { conversationId: "c1", locale: "de" },
      status: "completed",
      reason: { kind: "answered" },
      startedAt: start,
      toolCallsExecuted: 0,
    });
    expect(lines.join("")).not.toContain("user-987654");
  });

  it("contains a stream's request, first token and output, with times", async () => {
    const { log } = await logTimed({
      provider: createMockProvider([
        [
          wait(200),
          reasoning("Hm, "),
          wait(50),
          reasoning("hm."),
          text("Hello", { chunks: 3 }),
          wait(100),
          usage({ inputTokens: 100, outputTokens: 9, cachedInputTokens: 80 }),
        ],
      ]),
      system: "Be brief.",
      modelSettings: { temperature: 0, extra: { top_k: 1 } },
      toolChoice: "auto",
      tools: [lookUp],
      pricing: () => 0.5,
    });
    expect(log.runs[0]?.iterations).toMatchObject([
      {
        iteration: 0,
        continuation: 0,
        startedAt: start,
        endedAt: start + 350,
        request: {
          at: start,
          provider: "mock",
          model: "mock-model",
          system: "Be brief.",
          settings: { temperature: 0, extra: { top_k: 1 } },
          toolChoice: "auto",
          tools: [{ name: "look_up", description: "Looks up", inputSchema: { type: "object" } }],
          messageCount: 1,
          added: messages,
        },
        firstToken: { at: start + 200, ms: 200, kind: "reasoning" },
        output: { at: start + 350, text: "Hello", reasoning: "Hm, hm.", finish: "stop" },
        status: "completed",
        usage: { inputTokens: 100, cachedInputTokens: 80 },
        costUSD: 0.5,
        durationMs: 350,
      },
    ]);
  });

  it('contains one "output" line per stream, before the lines of the calls', async () => {
    const script = [[text("I look it up. ", { chunks: 4 }), toolCall("look_up", { id: 7 })], text("Done.")];
    const { lines } = await logTimed({ provider: createMockProvider(script), tools: [lookUp] });
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      ...["log", "run-start"],
      ...["iteration-start", "request", "first-token", "output", "tool-start", "tool-end", "iteration-end"],
      ...["iteration-start", "request", "first-token", "output", "iteration-end", "run-end"],
    ]);
    expect(linesOf(lines, "output")[0]).toMatchObject({
      text: "I look it up. ",
      calls: [{ callId: "call_i0_0", args: { id: 7 } }],
    });
  });

  it("contains output parts that have no event, such as provider metadata", async () => {
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream() {
        yield { type: "text-delta", text: "Hi." };
        yield { type: "provider-metadata", item: { signature: "abc" } };
        yield { type: "details", text: "Sources: 2" };
        yield { type: "thought-log", payload: { plan: 1 } };
        yield { type: "finish", reason: "stop", raw: "end_turn" };
      },
    };
    const { log } = await logTimed({ provider });
    expect(log.runs[0]?.iterations[0]?.output).toMatchObject({
      providerMetadata: [{ signature: "abc" }],
      details: "Sources: 2",
      thoughtLog: { plan: 1 },
      rawFinish: "end_turn",
    });
  });

  it("repeats the tool definitions and the system text only after a change", async () => {
    const long = "A long description of a tool. ".repeat(9);
    const tools = ["a", "b"].map((name) => ({ ...lookUp, name, description: `${long}${name}` }));
    const { lines, log } = await logTimed({
      provider: createMockProvider(({ iteration }) => (iteration < 3 ? toolCall("a") : text("Done."))),
      tools,
      system: long,
      middleware: [
        prepareIteration(({ iteration }) => (iteration === 2 ? { tools: ["b"], system: `${long}!` } : undefined)),
        approve(() => ({ kind: "approve" })),
      ],
    });
    for (const { description } of tools) expect(lines.join("").split(`${description}"`)).toHaveLength(2);
    expect(log.runs[0]?.iterations.map(({ request }) => request?.tools.map(({ name }) => name))).toEqual([
      ["a", "b"],
      ["a", "b"],
      ["b"],
      ["a", "b"],
    ]);
    expect(log.runs[0]?.iterations.map(({ request }) => request?.system?.endsWith("!"))).toEqual([false, false, true, false]);
  });

  it("contains the attempts of withRetry with their errors and waits", async () => {
    const busy = fail({ status: 529, message: "Overloaded" });
    const provider = withRetry(
      createMockProvider([
        [wait(10), busy],
        [wait(20), busy],
        [wait(30), text("Done.")],
      ]),
      { baseDelayMs: 1_000, random: () => 1 },
    );
    const [iteration] = (await logTimed({ provider })).log.runs[0]?.iterations ?? [];
    expect(iteration?.attempts).toMatchObject([
      { attempt: 1, startedAt: start, discardedAt: start + 10, error: { code: "overloaded", status: 529 } },
      { attempt: 2, startedAt: start + 1_010, discardedAt: start + 1_030 },
      { attempt: 3, startedAt: start + 3_030 },
    ]);
    expect(iteration?.waits).toEqual([
      { kind: "retry", from: start + 10, to: start + 1_010 },
      { kind: "retry", from: start + 1_030, to: start + 3_030 },
    ]);
    expect(iteration?.firstToken).toEqual({ at: start + 3_060, ms: 30, kind: "text" });
  });

  it("distinguishes a wait for a rate limit from other waits between attempts", async () => {
    const refused = [wait(10), fail({ status: 429, message: "Too many requests" })];
    const broken = [wait(10), fail({ status: 503, message: "Unavailable" })];
    const provider = withRetry(createMockProvider([refused, broken, text("Done.")]), { baseDelayMs: 1_000, random: () => 1 });
    const [iteration] = (await logTimed({ provider })).log.runs[0]?.iterations ?? [];
    expect(iteration?.waits.map(({ kind }) => kind)).toEqual(["rate-limit", "retry"]);
  });

  it("contains the discarded output of withFallback", async () => {
    const first = createMockProvider([[text("Half an ans"), fail({ status: 500, message: "Broken" })]]);
    const provider = withFallback([first, createMockProvider([text("Whole.")], { id: "other", model: "second" })]);
    const { lines, log } = await logTimed({ provider });
    const [iteration] = log.runs[0]?.iterations ?? [];
    // Each attempt has its own first token.
    expect(linesOf(lines, "first-token")).toHaveLength(2);
    expect(iteration?.attempts).toMatchObject([
      { provider: "mock", model: "mock-model", text: "Half an ans", error: { code: "server" } },
      { provider: "other", model: "second" },
    ]);
    expect([iteration?.output?.text, iteration?.model]).toEqual(["Whole.", "second"]);
  });

  it("contains the time that calls spend waiting for an approval and for other calls", async () => {
    const work = (ms: number): Promise<string> => new Promise((resolve) => void clock.setTimeout(() => resolve("ok"), ms));
    const clock = createTestClock(start);
    const tool = defineTool({ name: "work", description: "Works", inputSchema: { type: "object" }, execute: () => work(40) });
    const running = logRun(
      {
        messages,
        clock,
        provider: createMockProvider([[toolCall("work"), toolCall("work")], text("Done.")]),
        tools: [tool],
        limits: { toolConcurrency: 1 },
        middleware: [approve(() => work(5).then(() => ({ kind: "approve" }) as const))],
      },
      { clock },
    );
    await clock.runAll();
    const [iteration] = (await running).log.runs[0]?.iterations ?? [];
    const waits = iteration?.waits.map(({ kind, callId, from, to = 0 }) => [kind, callId, from - start, to - start]);
    expect(waits).toEqual([
      ["approval", "call_i0_0", 0, 5],
      ["approval", "call_i0_1", 0, 5],
      ["queue", "call_i0_1", 5, 45],
    ]);
  });

  it("names the part of the output that a guardrail refused", async () => {
    const refuse = { name: "rules", check: () => ({ kind: "refuse", reason: "not here" }) as const };
    const middleware = [guardrails({ output: [refuse] })];
    const { lines } = await logTimed({ provider: createMockProvider([text("Hi.")]), middleware });
    expect(linesOf(lines, "guardrail")).toMatchObject([{ stage: "output", guardrail: "rules", part: "text" }]);
  });

  it("contains notices and the progress of calls", async () => {
    const tool = defineTool({
      name: "work",
      description: "Works",
      inputSchema: { type: "object" },
      execute: (_args, context) => (context.progress({ done: 1 }), context.progress(10n), "ok"),
    });
    const script = [toolCall("work"), toolCall("work", { n: 1 }), text("Done.")];
    const { log } = await logTimed({ provider: createMockProvider(script), tools: [tool], limits: { softWarnIteration: 1 } });
    const [run] = log.runs;
    expect(run?.iterations[0]?.calls[0]?.progress).toEqual([
      { at: start, data: { done: 1 } },
      { at: start, data: "[not plain data]" },
    ]);
    expect(run?.lines.find(({ type }) => type === "notice")).toMatchObject({ kind: "still-working", iteration: 1 });
  });

  it("contains preliminary results and emitted parts without secrets", async () => {
    const tool = defineTool({
      name: "work",
      description: "Works",
      inputSchema: { type: "object" },
      async *execute(_args, { emit }) {
        emit({ type: "text", text: "On " });
        emit({ type: "text", text: "it." });
        yield { done: 1 };
        emit({ type: "data", name: "chart", data: { status: "hidden", password: "p" }, id: "a" });
        emit({ type: "text", text: "Done." });
      },
    });
    const options = { messages, provider: createMockProvider([toolCall("work"), text("Done.")]), tools: [tool] };
    const { log } = await logRun(options, { redact: (said) => said.replace("hidden", "removed") });
    const chart = { type: "data", name: "chart", data: { status: "removed", password: "[redacted]" }, id: "a" };
    expect(log.runs[0]?.iterations[0]?.calls[0]?.progress.map(({ data }) => data)).toEqual([
      { type: "text", text: "On it." },
      { done: 1 },
      chart,
      { type: "text", text: "Done." },
    ]);
  });
});
