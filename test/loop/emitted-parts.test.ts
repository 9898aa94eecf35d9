import { describe, expect, it } from "vitest";
import {
  createToolRegistry,
  defineAgentTool,
  emitText,
  isLoopError,
  memoryJournal,
  type NestedLoopOptions,
  type Tool,
  type ToolContext,
  withFallback,
  runNested,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  type EventRecording,
  fail,
  type MockScript,
  recordEvents,
  runTool,
  text,
  toolCall,
  wait,
} from "turnwright/testing";
import { play, tool } from "./play.ts";
import { question } from "./nested/nesting.ts";

type Make = (name: string, options: () => NestedLoopOptions) => Tool;

const agent: Make = (name, prepare) =>
  defineAgentTool({ name, description: name, inputSchema: { type: "object" }, emitText: true, prepare });
const ordinary: Make = (name, options) =>
  tool(name, async (_args, context) => (await runNested(context, { ...options(), events: emitText(context) })).text);

const partsOf = (recording: EventRecording): readonly unknown[] =>
  recording.of("tool-emit").flatMap(({ part, path }) => (path === undefined ? [part] : []));
const said = (words: string): object => ({ type: "text", text: words });
const scripted =
  (script: MockScript, more: Partial<NestedLoopOptions> = {}) =>
  (): NestedLoopOptions => ({
    messages: question,
    provider: createMockProvider(script),
    ...more,
  });

describe.each([
  ["defineAgentTool with emitText", agent],
  ["runNested with emitText(context)", ordinary],
] as const)("%s", (_title, make) => {
  it("emits the nested run's text as parts of the outer call", async () => {
    const child = make("child", scripted([text("One two.", { chunks: 2 })]));
    const recording = recordEvents(undefined, ["tool-emit"]);
    const { result } = play([toolCall("child"), text("Done.")], { tools: [child], events: recording.emitter });
    expect((await result).text).toBe("Done.");
    expect(partsOf(recording)).toEqual([said("One "), said("two.")]);
    expect(recording.of("tool-emit")[0]).toMatchObject({ callId: "call_i0_0", name: "child", index: 0, iteration: 0 });
  });

  it("passes on the text and the parts that deeper levels emit", async () => {
    const chart = tool("chart", (_args, { emit }) => emit({ type: "data", name: "chart", data: 1, id: "a" }));
    const deep = make("deep", scripted([toolCall("chart"), text("Deep.")], { tools: [chart] }));
    const child = make("child", scripted([toolCall("deep"), text("Child.")], { tools: [deep] }));
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: [child] });
    await result;
    expect(partsOf(recording)).toEqual([
      { type: "data", name: "chart", data: 1, id: "call_i0_0/call_i0_0/a" },
      said("Deep."),
      said("Child."),
    ]);
  });

  it("does not emit text from a discarded attempt", async () => {
    const first = createMockProvider([[text("Wrong."), fail({ code: "overloaded" })]]);
    const provider = withFallback([first, createMockProvider([text("Right.")])]);
    const child = make("child", () => ({ messages: question, provider }));
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: [child] });
    await result;
    expect(partsOf(recording)).toEqual([said("Right.")]);
  });
});

describe("defineAgentTool: emitText", () => {
  it("emits an agent's text even if the registry has no agentOf method", async () => {
    const registry = createToolRegistry([agent("child", scripted([text("Inner.")]))]);
    const { definitions, executeTool } = registry;
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: { definitions, executeTool } });
    await result;
    expect(partsOf(recording)).toEqual([said("Inner.")]);
  });

  it("emits nothing in a replay", async () => {
    const journal = memoryJournal();
    const tools = [agent("child", scripted([text("Inner.")]))];
    await play([toolCall("child"), text("Done.")], { tools, journal, runId: "told" }).result;
    const again = play([], { tools, journal: memoryJournal(journal.toJSON()), runId: "told" });
    expect((await again.result).text).toBe("Done.");
    expect(again.recording.of("tool-emit")).toEqual([]);
  });

  it("is off by default", async () => {
    const fields = {
      name: "child",
      description: "",
      inputSchema: { type: "object" },
      prepare: scripted([text("Inner.")]),
    } as const;
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: [defineAgentTool(fields)] });
    await result;
    expect(recording.of("tool-emit")).toEqual([]);
    const isRefused = (error: unknown): boolean => isLoopError(error, "invalid-tool");
    expect(() => defineAgentTool({ ...fields, emitText: "yes" as never })).toThrow(expect.toSatisfy(isRefused));
  });
});

describe("context.emit", () => {
  it("writes parts only to events, and not to messages, results or the journal", async () => {
    const journal = memoryJournal();
    const work = tool("work", (_args, { emit }) => {
      emit({ type: "text", text: "live" });
      emit({ type: "data", name: "chart", data: { at: new Date(0) }, id: "a" });
      return "ok";
    });
    const { recording, result, provider } = play([toolCall("work"), text("Done.")], { tools: [work], journal });
    const { messages } = await result;
    expect(recording.of("tool-emit").map(({ part }) => part)).toEqual([
      { type: "text", text: "live" },
      { type: "data", name: "chart", data: { at: "1970-01-01T00:00:00.000Z" }, id: "a" },
    ]);
    expect(JSON.stringify([messages, journal, provider.requests])).not.toMatch(/live|chart/);
  });

  it.for<[what: string, part: unknown, option: string]>([
    ["a string", "hi", "emit(part)"],
    ["an unknown type", { type: "html", text: "" }, "emit(part).type"],
    ["a text part without text", { type: "text" }, "emit(part).text"],
    ["data with a name that no page can use", { type: "data", name: "a b", data: 1 }, "emit(part).name"],
    ["data with an id that is not a string", { type: "data", name: "a", data: 1, id: 1 }, "emit(part).id"],
    ["data that is not plain", { type: "data", name: "a", data: 1n }, "emit(part).data"],
    ["data that is missing", { type: "data", name: "a" }, "emit(part).data"],
  ])('throws LoopError "invalid-option" for %s', async ([, part, option]) => {
    let thrown: unknown;
    const work = tool("work", (_args, { emit }) => {
      try {
        emit(part as { type: "text"; text: string });
      } catch (error) {
        thrown = error;
      }
    });
    await runTool(work, {});
    expect(isLoopError(thrown, "invalid-option") && thrown.details.option).toBe(option);
  });

  it("restarts the idle timeout during a call, and has no effect afterwards", async () => {
    const clock = createTestClock();
    const sleep = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 40));
    const execute = async (_args: unknown, { emit }: ToolContext): Promise<void> => {
      for (let count = 0; count < 5; count += 1) {
        emit({ type: "text", text: String(count) });
        await sleep();
      }
    };
    const work = tool("work", execute, { idleTimeoutMs: 50, timeoutMs: 100 });
    const parts: unknown[] = [];
    const running = runTool(work, {}, { clock, onEmit: (part) => parts.push(part) });
    // After the call has timed out, the run goes on for a while, so that it can still send events of the call.
    const { recording, result } = play([toolCall("work"), [wait(300), text("Done.")]], { tools: [work], clock });
    await clock.advance(500);
    expect((await result).text).toBe("Done.");
    expect(await running).toMatchObject({ kind: "timed-out", limitMs: 100 });
    expect(parts).toEqual([said("0"), said("1"), said("2")]);
    expect(partsOf(recording)).toEqual(parts);
  });
});

it('a replay by runToolLoop runs no generator tool, and emits no "tool-progress" and no "tool-emit"', async () => {
  let count = 0;
  const journal = memoryJournal();
  const work = tool("work", async function* (_args, { emit }) {
    emit({ type: "text", text: "on it" });
    yield (count += 1);
  });
  const options = { tools: [work], journal, runId: "replayed" };
  const first = play([toolCall("work"), text("Done.")], options);
  await first.result;
  const second = play([], { ...options, journal: memoryJournal(journal.toJSON()) });
  expect((await second.result).text).toBe("Done.");
  const types = ["tool-progress", "tool-emit"] as const;
  expect([count, ...types.map((type) => second.recording.of(type))]).toEqual([1, [], []]);
  expect(types.map((type) => first.recording.of(type).length)).toEqual([1, 1]);
});
