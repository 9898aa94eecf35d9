import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Tool, ToolContext } from "../core/types/loop-options.ts";
import type { ToolOutcome } from "../core/types/tool-outcome.ts";
import { defer, FatalToolError, toolResult } from "../core/tools/tool-result.ts";
import { defineTool } from "../core/tools/define-tool.ts";
import { runTool } from "./run-tool.ts";
import { createMockProvider } from "./mock-provider.ts";
import { text } from "./mock-parts.ts";
import { createTestClock } from "./test-clock.ts";
import { defineAgentTool } from "../core/loop/nested/define-agent-tool.ts";
import type { Provider } from "../core/types/provider.ts";

const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C") }),
  execute: async ({ city, unit }) => ({ city, unit, degrees: 7 }),
});

const toolOf = (execute: (args: unknown, context: ToolContext) => unknown, traits: Partial<Tool> = {}): Tool =>
  defineTool({ name: "probe", description: "A tool under test", inputSchema: { type: "object" }, ...traits, execute });

const forever = (): Promise<never> => new Promise(() => {});

describe("runTool", () => {
  it.for<[what: string, tool: Tool, args: unknown, outcome: object]>([
    [
      "a value as data, with the schema's defaults",
      weather,
      { city: "Oslo" },
      { kind: "completed", data: { city: "Oslo", unit: "C", degrees: 7 } },
    ],
    ["invalid arguments as invalid-input", weather, { city: 42 }, { kind: "invalid-input", issues: [{ path: ["city"] }] }],
    [
      "{} from a tool that echoes its arguments if none are passed",
      toolOf((args) => args),
      undefined,
      { kind: "completed", data: {} },
    ],
    [
      "a thrown error as a failure",
      toolOf(() => {
        throw new TypeError("boom");
      }),
      {},
      { kind: "failed", error: { name: "TypeError", message: "boom" } },
    ],
    [
      "a FatalToolError as a fatal failure",
      toolOf(() => {
        throw new FatalToolError("gone");
      }),
      {},
      { kind: "failed", fatal: true, error: { message: "gone" } },
    ],
    [
      "a toolResult with success: false as a failure",
      toolOf(() => toolResult({ success: false, message: "full" })),
      {},
      { kind: "failed", error: { message: "full" } },
    ],
    [
      "the endTurn field of a toolResult",
      toolOf(() => toolResult({ data: 1, endTurn: true })),
      {},
      { kind: "completed", data: 1, endTurn: true },
    ],
    ["a value that is not JSON as a failure", toolOf(() => 1n), {}, { kind: "failed" }],
  ])("returns %s", async ([, tool, args, outcome]) => {
    expect(await runTool(tool, args)).toMatchObject({ call: { callId: "call_1", name: tool.name }, ...outcome });
  });

  it("passes a JSON copy of the arguments to the tool", async () => {
    const args = { list: [1], at: new Date(0) };
    const tool = toolOf((received) => Object.assign(Object(received), { list: "changed" }));
    expect(await runTool(tool, args)).toMatchObject({
      data: { list: "changed" },
      call: { args: { list: [1], at: "1970-01-01T00:00:00.000Z" } },
    });
    expect(args.list).toEqual([1]);
  });

  it.for<[what: string, traits: Partial<Tool>, limitMs: number]>([
    ["timeouts.toolMs", {}, 1_000],
    ["the tool's timeoutMs", { timeoutMs: 200 }, 200],
    ["the tool's idleTimeoutMs", { idleTimeoutMs: 50 }, 50],
  ])("ends the tool and fires the tool's signal after %s", async ([, traits, limitMs]) => {
    const clock = createTestClock();
    let signal: AbortSignal | undefined;
    const tool = toolOf((_args, context) => {
      signal = context.signal;
      return forever();
    }, traits);
    const running = runTool(tool, {}, { clock, timeouts: { toolMs: 1_000 } });
    await clock.advance(limitMs);
    expect(await running).toMatchObject({ kind: "timed-out", limitMs, durationMs: limitMs });
    expect([signal?.aborted, clock.pending]).toEqual([true, 0]);
  });

  it("restarts the idle timeout with each progress report from the tool", async () => {
    const clock = createTestClock();
    const heard: unknown[] = [];
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
    const tool = toolOf(
      async (_args, { progress, heartbeat }) => {
        for (const done of [0.3, 0.6]) {
          await sleep(40);
          progress(done);
        }
        await sleep(40);
        heartbeat();
        await sleep(60);
        progress("late");
      },
      { idleTimeoutMs: 50 },
    );
    const running = runTool(tool, {}, { clock, onProgress: (data) => heard.push(data) });
    await clock.runAll();
    expect(await running).toMatchObject({ kind: "timed-out", durationMs: 170 });
    expect(heard).toEqual([0.3, 0.6]);
  });

  it("interrupts the tool with the signal's reason when the signal fires", async () => {
    const abort = new AbortController();
    const clock = createTestClock();
    let reason: unknown;
    const tool = toolOf((_args, { signal }) => {
      signal.addEventListener("abort", () => (reason = signal.reason));
      return forever();
    });
    const running = runTool(tool, {}, { clock, signal: abort.signal });
    await clock.flush();
    abort.abort("enough");
    expect(await running).toMatchObject({ kind: "interrupted" });
    expect(reason).toBe("enough");
  });

  it("does not start the tool if the signal has already fired", async () => {
    let ran = false;
    const tool = toolOf(() => (ran = true));
    expect(await runTool(tool, {}, { signal: AbortSignal.abort() })).toMatchObject({ kind: "not-run" });
    expect(ran).toBe(false);
  });

  it("leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    let during = 0;
    await runTool(
      toolOf(() => (during = listeners.size)),
      {},
      { signal },
    );
    expect([during, listeners.size]).toEqual([1, 0]);
  });

  it("retries an idempotent tool", async () => {
    let attempts = 0;
    const tool = toolOf(
      () => {
        attempts += 1;
        if (attempts < 3) throw new Error("flaky");
        return attempts;
      },
      { idempotent: true, retry: { maxAttempts: 3 } },
    );
    expect(await runTool(tool)).toMatchObject({ kind: "completed", data: 3 });
  });

  it('returns the outcome "deferred" if the tool calls defer() or has no execute', async () => {
    expect(await runTool(toolOf(() => defer()))).toMatchObject({ kind: "deferred" });
    const { execute: _, ...waiting } = toolOf(() => 1);
    expect(await runTool(waiting)).toMatchObject({ kind: "deferred" });
  });

  it("passes a context with defaults to the tool", async () => {
    let context: ToolContext | undefined;
    await runTool(toolOf((_args, received) => void (context = received)));
    expect(context).toEqual({
      step: expect.any(Function) as unknown,
      wait: expect.any(Function) as unknown,
      call: expect.any(Function) as unknown,
      callId: "call_1",
      name: "probe",
      runId: "test",
      iteration: 0,
      signal: expect.any(AbortSignal),
      heartbeat: expect.any(Function),
      progress: expect.any(Function),
      emit: expect.any(Function),
      messages: [],
      contextItems: [],
      messageIdMap: undefined,
      provider: { id: "mock", model: "mock-model" },
      showKillHint: false,
      suppressProgressNotices: false,
      budget: { iterations: Infinity, toolCalls: Infinity, tokens: Infinity, wallClockMs: Infinity, costUSD: Infinity },
      idempotencyKey: "test/i0/tool/0/probe",
      session: {},
      context: undefined,
      depth: 0,
    });
  });

  it("passes a context with the overrides to the tool", async () => {
    const set = {
      runId: "r",
      callId: "c",
      iteration: 3,
      messages: [{ role: "user", content: "Hi" }],
      contextItems: [{ a: 1 }],
      messageIdMap: new Map(),
      provider: { id: "p", model: "m" },
      showKillHint: true,
      budget: { iterations: 1, toolCalls: 2, tokens: 3, wallClockMs: 4, costUSD: 5 },
      session: { userId: "u", surfaceUserErrors: false },
      context: { database: "d" },
    } as const;
    let context: ToolContext | undefined;
    const outcome: ToolOutcome = await runTool(
      toolOf((_args, received) => void (context = received)),
      {},
      set,
    );
    expect(context).toMatchObject({ ...set, suppressProgressNotices: true, idempotencyKey: "test/i3/tool/0/probe" });
    expect(outcome.call.callId).toBe("c");
  });

  it("runs an agent tool with the provider from the overrides, or else with the agent's provider", async () => {
    const agentWith = (provider?: Provider): Tool =>
      defineAgentTool({
        name: "ask",
        description: "Asks",
        inputSchema: z.object({ question: z.string() }),
        prepare: ({ question }) => ({ messages: [{ role: "user", content: question }], ...(provider && { provider }) }),
      });
    const provider = createMockProvider(() => text("The test's."));
    const own = createMockProvider(() => text("Its own."));
    const args = { question: "Which?" };
    expect(await runTool(agentWith(), args, { provider })).toMatchObject({ kind: "completed", data: "The test's." });
    expect(await runTool(agentWith(own), args, { provider })).toMatchObject({ kind: "completed", data: "The test's." });
    expect([provider.requests.length, own.calls]).toEqual([2, 0]);
    expect(await runTool(agentWith(own), args)).toMatchObject({ kind: "completed", data: "Its own." });
    expect(await runTool(agentWith(), args)).toMatchObject({
      kind: "failed",
      error: { message: expect.stringContaining("Pass one: runTool(tool, args, { provider: createMockProvider([...]) }).") },
    });
  });

  it("runs a tool with needsApproval without waiting for approval", async () => {
    expect((await runTool(toolOf(() => 1, { needsApproval: true }))).kind).toBe("completed");
  });

  it("reports metadata to onMetadata", async () => {
    const heard: unknown[] = [];
    const tool = toolOf(() => toolResult({ data: 1, metadata: { rows: 2 } }));
    await runTool(tool, {}, { onMetadata: (metadata) => heard.push(metadata) });
    expect(heard).toEqual([{ rows: 2 }]);
  });

  it("rejects arguments that are not JSON", async () => {
    await expect(runTool(weather, { city: 1n })).rejects.toThrow("a BigInt");
    await expect(runTool(weather, {}, { timeouts: { toolMs: -1 } })).rejects.toMatchObject({ code: "invalid-option" });
  });
});
