import { describe, expect, it } from "vitest";
import {
  createToolRegistry,
  defineAgentTool,
  emitText,
  isLoopError,
  memoryJournal,
  type NestedLoopOptions,
  type Tool,
  withFallback,
} from "turnwright";
import { createMockProvider, type EventRecording, fail, type MockScript, text, toolCall } from "turnwright/testing";
import { play, tool } from "../play.ts";
import { question } from "./nesting.ts";

type Make = (name: string, options: () => NestedLoopOptions) => Tool;

const agent: Make = (name, prepare) =>
  defineAgentTool({ name, description: name, inputSchema: { type: "object" }, emitText: true, prepare });
const ordinary: Make = (name, options) =>
  tool(name, async (_args, context) => (await context.runToolLoop({ ...options(), events: emitText(context) })).text);

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
  ["context.runToolLoop with emitText(context)", ordinary],
] as const)("%s", (_title, make) => {
  it("emits the text of the nested run as parts of the outer call", async () => {
    const child = make("child", scripted([text("One two.", { chunks: 2 })]));
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: [child] });
    expect((await result).text).toBe("Done.");
    expect(partsOf(recording)).toEqual([said("One "), said("two.")]);
    expect(recording.of("tool-emit")[0]).toMatchObject({ callId: "call_i0_0", name: "child", index: 0, iteration: 0 });
  });

  it("passes on the text and the parts of deeper levels, if each level does", async () => {
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

  it("emits no text of an attempt that was discarded", async () => {
    const first = createMockProvider([[text("Wrong."), fail({ code: "overloaded" })]]);
    const provider = withFallback([first, createMockProvider([text("Right.")])]);
    const child = make("child", () => ({ messages: question, provider }));
    const { recording, result } = play([toolCall("child"), text("Done.")], { tools: [child] });
    await result;
    expect(partsOf(recording)).toEqual([said("Right.")]);
  });
});

describe("defineAgentTool with emitText", () => {
  it("emits text through a registry that hides the agent", async () => {
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

  it("is off by default, and refuses another value", async () => {
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
