import { describe, expect, it } from "vitest";
import {
  contextRestart,
  isLoopError,
  type Journal,
  type LoopOptions,
  memoryJournal,
  prepareIteration,
  type Tool,
  type ToolRegistry,
} from "turnwright";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";

const definition = { name: "t", description: "", inputSchema: {} };

describe("a custom tool registry", () => {
  it("ends the run and keeps its results if definitions() throws between iterations", async () => {
    let hasRun = false;
    const tools: ToolRegistry = {
      definitions: () => {
        if (hasRun) throw new Error("gone");
        return [{ ...definition }];
      },
      executeTool: () => {
        hasRun = true;
        return "done";
      },
    };
    const result = await play([[text("So. "), toolCall("t")], text("unused")], { tools }).result;
    expect([result.status, result.text, answersOf(result).length]).toEqual(["error", "So.", 1]);
  });

  it('ends the run with "hook-failed" if definitions() throws after prepareIteration', async () => {
    let hooked = false;
    const tools: ToolRegistry = {
      definitions: () => {
        if (hooked) throw new Error("gone");
        return [{ ...definition }];
      },
      executeTool: () => "done",
    };
    const prepare = async (): Promise<undefined> => void (hooked = true);
    const { result, provider } = play([toolCall("t"), text("unused")], { tools, middleware: [prepareIteration(prepare)] });
    expect([(await result).reason, provider.calls]).toMatchObject([{ kind: "hook-failed", hook: "tools.definitions" }, 1]);
  });

  it("ends the run before the next call if a definition becomes invalid between iterations", async () => {
    let timeoutMs = 1_000;
    let ran = 0;
    const tools: ToolRegistry = {
      definitions: () => [{ ...definition, timeoutMs }],
      executeTool: () => {
        ran += 1;
        timeoutMs = Number.NaN;
        return "done";
      },
    };
    const result = await play([toolCall("t"), toolCall("t"), text("unused")], { tools }).result;
    expect(result.reason).toMatchObject({ kind: "hook-failed", hook: "tools.definitions", error: { code: "invalid-tool" } });
    expect([ran, answersOf(result).length]).toEqual([1, 1]);
  });

  it.for([Number.NaN, 0, -1, 1.5, 2 ** 31, "5"])(
    "is rejected before any request if the timeoutMs of a tool is %o",
    async (timeoutMs) => {
      const tools: ToolRegistry = {
        definitions: () => [{ ...definition, timeoutMs: timeoutMs as number }],
        executeTool: async () => "done",
      };
      const playing = play([toolCall("t"), text("unused")], { tools });
      const thrown: unknown = await playing.result.catch((error: unknown) => error);
      expect([isLoopError(thrown, "invalid-tool"), playing.provider.calls]).toEqual([true, 0]);
    },
  );
});

it.for<[from: string, create: (execute: () => Promise<string>, traits: Partial<Tool>) => LoopOptions["tools"]]>([
  ["a custom registry", (executeTool, traits) => ({ definitions: () => [{ ...definition, ...traits }], executeTool })],
  ["a list", (execute, traits) => [tool("t", execute, traits)]],
])("an infinite timeoutMs for a tool from %s overrides the run's timeouts", async ([, create]) => {
  const clock = createTestClock();
  const traits = { timeoutMs: Number.POSITIVE_INFINITY, idleTimeoutMs: Number.POSITIVE_INFINITY };
  const week = 7 * 24 * 3_600_000;
  const slow = (): Promise<string> => new Promise((resolve) => void clock.setTimeout(() => resolve("done"), week));
  const { result } = play([toolCall("t"), text("Done.")], { clock, tools: create(slow, traits), timeouts: { toolMs: 1_000 } });
  await clock.advance(week);
  expect((await result).functionHistory).toMatchObject([{ outcome: "completed", durationMs: week }]);
  expect(clock.pending).toBe(0);
});

describe("LoopResult", () => {
  it("can be serialized to JSON even if its journal refers to itself", async () => {
    const { step, read } = memoryJournal();
    const journal: Journal & { self?: unknown } = { durable: false, step, read };
    journal.self = journal;
    const result = await play([text("Hi")], { journal }).result;
    expect(() => JSON.stringify(result)).not.toThrow();
    expect(result.journal).toBe(journal);
  });
});

describe("the tool-end event", () => {
  it("contains the result that the model reads if a tool returns contextRestart", async () => {
    const playing = play([toolCall("t"), text("Done.")], {
      tools: [tool("t", () => contextRestart({ type: "context_restart_x", enhanced_context_item: [1] }))],
    });
    const result = await playing.result;
    expect(playing.recording.of("tool-end").map((event) => event.result)).toEqual(answersOf(result).map((part) => part.result));
  });
});
