import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  createToolRegistry,
  defineAgentTool,
  FatalToolError,
  gateTools,
  type LoopResult,
  type NestedLoopOptions,
  type Tool,
  type ToolRegistry,
} from "turnwright";
import { createMockProvider, createTestClock, runTool, text, toolCall, wait } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "../play.ts";
import { nesting, question, scripted } from "./nesting.ts";

type Prepare = () => unknown;

function agent(prepare: Prepare, toResult?: (result: LoopResult) => unknown, traits: Partial<Tool> = {}): Tool {
  const { execute: _, ...rest } = { ...traits };
  const fields = { name: "agent", description: "", inputSchema: { type: "object" }, prepare: prepare as () => NestedLoopOptions };
  return defineAgentTool({ ...fields, ...rest, toResult });
}

const answers = (said = "c") => ({ messages: question, provider: createMockProvider(() => text(said)) });

describe("a tool from defineAgentTool", () => {
  it("starts a nested run even if another registry wraps its registry", async () => {
    const child = scripted(["agent tool", "agent"], [toolCall("ok"), text("c")], { tools: [tool("ok", () => 1)] });
    const inner = createToolRegistry([child.tool]);
    const wrapper: ToolRegistry = {
      definitions: () => inner.definitions(),
      executeTool: (name, args, context) => inner.executeTool(name, args, context),
    };
    const playing = play([toolCall("agent"), text("Done.")], { tools: wrapper });
    const result = await playing.result;
    expect([answersOf(result)[0]?.result, result.toolCallsExecuted]).toEqual(["c", 2]);
    expect(playing.recording.of("run-end").map(({ path }) => path)).toEqual([["call_i0_0"], undefined]);
  });

  it("can be run by runTool, which lets a test replace runNested", async () => {
    const one = agent(() => answers("kit"));
    expect(await runTool(one)).toMatchObject({ kind: "completed", data: "kit" });
    const told: unknown[] = [];
    const inner = (options: unknown): Promise<LoopResult> => {
      told.push(options);
      return Promise.resolve({ status: "completed", responseText: "faked" } as LoopResult);
    };
    expect(
      await runTool(
        agent(() => ({ messages: question })),
        {},
        { runNested: inner },
      ),
    ).toMatchObject({ data: "faked" });
    expect(told).toEqual([{ messages: question }]);
    // The call fails, because runTool has no provider for the nested run.
    expect(await runTool(agent(() => ({ messages: question })))).toMatchObject({ kind: "failed" });
  });

  it("counts as one call for approve and for the outer run's gateTools", async () => {
    const asked: string[] = [];
    const policy: Approve = ({ name, args }) => {
      asked.push(`${name} ${JSON.stringify(args)}`);
      return JSON.stringify(args) === '"no"' ? { kind: "deny", reason: "not now" } : { kind: "modify", args: "edited" };
    };
    const provider = createMockProvider(() => text("c"));
    const prepared: unknown[] = [];
    const child = nesting("agent tool", "agent", (args) => {
      prepared.push(args);
      return { messages: question, provider };
    });
    const script = [[toolCall("agent", "yes"), toolCall("agent", "no")], text("Done.")];
    const result = await play(script, { tools: [child], middleware: [approve(policy)] }).result;
    expect([outcomesOf(result), asked, prepared]).toEqual([
      ["call_i0_0: completed", "call_i0_1: denied"],
      ['agent "yes"', 'agent "no"'],
      ["edited"],
    ]);
    const gated = await play(script, { tools: [child], middleware: [gateTools({ active: true, allowedNames: [] })] }).result;
    expect([outcomesOf(gated), provider.calls]).toEqual([["call_i0_0: blocked", "call_i0_1: blocked"], 1]);
  });

  it("returns its result in call order with the ordinary calls in its batch", async () => {
    const clock = createTestClock();
    const child = nesting("agent tool", "agent", (args) => ({
      messages: question,
      provider: createMockProvider([[wait(Number(args)), text(`agent ${String(args)}`)]]),
    }));
    const echo = tool("echo", (args) => args);
    const calls = [toolCall("echo", 1), toolCall("agent", 30), toolCall("echo", 2), toolCall("agent", 10), toolCall("echo", 3)];
    const playing = play([calls, text("Done.")], { tools: [child, echo], clock });
    await clock.runAll();
    const result = await playing.result;
    expect(answersOf(result).map(({ callId, result: said }) => `${callId} ${JSON.stringify(said)}`)).toEqual([
      "call_i0_0 1",
      'call_i0_1 "agent 30"',
      "call_i0_2 2",
      'call_i0_3 "agent 10"',
      "call_i0_4 3",
    ]);
    expect(playing.endedAt()).toBe(30);
  });

  it.for<[sequential: boolean | undefined, endsAt: number]>([
    [undefined, 100],
    [true, 300],
  ])("with sequential: %s finishes three calls after %d ms", async ([sequential, endsAt]) => {
    const one = agent(() => ({ messages: question, provider: createMockProvider([[wait(100), text("c")]]) }), undefined, {
      sequential,
    });
    const playing = play([[toolCall("agent"), toolCall("agent"), toolCall("agent")], text("Done.")], { tools: [one] });
    await playing.clock.runAll();
    expect([(await playing.result).text, playing.endedAt()]).toEqual(["Done.", endsAt]);
  });

  it("finishes if it is running when another call throws FatalToolError, but does not start afterwards", async () => {
    const clock = createTestClock();
    const slow = scripted(["agent tool", "slow"], [[wait(100), text("c")]]);
    const fatal = tool("fatal", () => {
      throw new FatalToolError("over");
    });
    const alone = scripted(["agent tool", "alone"], [text("never")]);
    const tools = [slow.tool, fatal, { ...alone.tool, sequential: true }];
    const playing = play([[toolCall("slow"), toolCall("fatal"), toolCall("alone")]], { tools, clock });
    await clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result), alone.provider.calls]).toEqual([
      "fatal-tool-error",
      ["call_i0_0: completed", "call_i0_1: failed", "call_i0_2: not-run"],
      0,
    ]);
  });
});
