import { describe, expect, it } from "vitest";
import {
  contextRestart,
  contextRestarts,
  createLoopControl,
  FatalToolError,
  type NestedLoopOptions,
  onIteration,
  prepareIteration,
  runToolLoop,
  type Tool,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  endEarly,
  fail,
  finish,
  type MockMessage,
  stall,
  text,
  toolCall,
} from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool } from "../play.ts";
import { kinds, nesting, question, scripted } from "./nesting.ts";

const ok = tool("ok", () => "fine");
const broken = tool("broken", () => {
  throw new Error("no");
});
const fatal = tool("fatal", () => {
  throw new FatalToolError("never again");
});
const deaf = tool("deaf", () => never);
const tools: readonly Tool[] = [ok, broken, fatal, deaf];
const many = (turn: MockMessage): readonly MockMessage[] => Array.from({ length: 200 }, () => turn);

const failures: readonly (readonly [ending: string, script: readonly MockMessage[], options?: Partial<NestedLoopOptions>])[] = [
  ["error: provider-error", [[text("Half"), fail({ status: 500 })]]],
  ["error: provider-error", [[text("Half"), endEarly()]]],
  ["error: malformed-call", [toolCall("  ")]],
  ["error: tool-error-cap", many(toolCall("broken"))],
  ["error: fatal-tool-error", [toolCall("fatal")]],
  ["error: max-tool-calls", many(toolCall("ok")), { limits: { maxToolCalls: 1 } }],
  ["error: max-tokens", many(toolCall("ok")), { limits: { maxTokens: 1 } }],
  ["error: max-pauses", many([text("x"), finish("paused")]), { limits: { maxPauses: 1 } }],
  [
    "error: hook-failed",
    [],
    {
      middleware: [
        prepareIteration(() => {
          throw new Error("no");
        }),
      ],
    },
  ],
  ["timeout: max-iterations", many(toolCall("ok")), { limits: { maxIterations: 3 } }],
  ["timeout: first-chunk", [stall()]],
  ["timeout: stream-idle", [[text("Half"), stall({ ignoreSignal: true })]]],
  ["timeout: wall-clock", [toolCall("deaf")], { limits: { wallClockMs: 90 } }],
  ["empty-response: empty", [[]]],
  ["stopped-by-user: iteration-abort", [toolCall("ok")], { middleware: [onIteration(() => ({ abort: true }))] }],
];

describe("a nested run that fails", () => {
  it.for(kinds.flatMap((kind) => failures.map(([ending, script, more]) => [kind, ending, script, more] as const)))(
    'in an %s ends with "%s" and affects only its own call (case %#)',
    async ([kind, ending, script, more]) => {
      const child = scripted([kind, "child"], script, { tools, ...more });
      const timeouts = { streamIdleMs: 500, firstChunkMs: 800, toolCleanupMs: 10, toolMs: 1_000_000 };
      const playing = play([toolCall("child"), toolCall("child"), text("Moving on.")], {
        tools: [{ ...child.tool, sequential: true }],
        timeouts,
        limits: { maxConsecutiveToolErrors: 2, maxIterations: 1 },
      });
      await playing.clock.runAll();
      const result = await playing.result;
      expect(answersOf(result)).toMatchObject([
        { outcome: "failed", result: { status: "tool_execution_failed", reason: ending, tool_name: "child" } },
      ]);
      // The failed nested run counts as one tool error. Two errors are allowed, so the outer run ends only at `maxIterations`.
      expect([result.reason.kind, result.iterations, playing.clock.pending]).toEqual(["max-iterations", 1, 0]);
      expect(playing.recording.of("run-end").map(({ status, reason }) => `${status}: ${reason.kind}`)).toEqual([
        ending,
        "timeout: max-iterations",
      ]);
    },
  );

  it.for(kinds)("in an %s counts as one tool error in the outer run", async (kind) => {
    const child = nesting(kind, "child", () => ({ messages: question, provider: createMockProvider([fail({ status: 500 })]) }));
    const playing = play(() => toolCall("child"), { tools: [child], limits: { maxConsecutiveToolErrors: 2 } });
    const result = await playing.result;
    expect([result.reason, result.iterations]).toEqual([{ kind: "tool-error-cap", count: 2 }, 2]);
  });
});

describe.for(kinds)("a nested run in an %s with its own control", (kind) => {
  it.for<[how: string, act: (control: ReturnType<typeof createLoopControl>, abort: AbortController) => void, ending: string]>([
    ["its own stop", (control) => control.stop(), "stopped-by-user: stopped"],
    ["its own kill", (control) => control.kill(), "stopped-by-user: killed"],
    ["its own signal", (_, abort) => abort.abort(), "stopped-by-user: aborted"],
    ["its own interrupt", (control) => control.interrupt("Wait."), "follow-up-interrupt: interrupted"],
  ])("is ended by %s without ending the outer run", async ([, act, ending]) => {
    const control = createLoopControl();
    const abort = new AbortController();
    const child = scripted([kind, "child"], [stall()], { control, signal: abort.signal });
    const playing = play([toolCall("child"), text("Moving on.")], { tools: [child.tool] });
    await playing.clock.flush();
    act(control, abort);
    const result = await playing.result;
    expect([result.text, outcomesOf(result)]).toEqual(["Moving on.", ["call_i0_0: failed"]]);
    expect(answersOf(result)[0]?.result).toMatchObject({ reason: ending });
    expect([child.provider.active, playing.clock.pending]).toEqual([0, 0]);
  });

  it("is steered by its own control", async () => {
    const control = createLoopControl();
    const steer = tool("steer", () => void control.steer("In Celsius."));
    const child = scripted([kind, "child"], [toolCall("steer"), text("7 degrees.")], { control, tools: [steer] });
    const result = await play([toolCall("child"), text("Done.")], { tools: [child.tool] }).result;
    expect(result.messages).toHaveLength(4);
    expect(child.provider.requests[1]?.messages.at(-1)).toEqual({ role: "user", content: "In Celsius." });
  });

  it.for(["control", "runId"] as const)("lets the outer run continue if another live run uses the same %s", async (what) => {
    const control = createLoopControl();
    const clock = createTestClock();
    const holding = runToolLoop({ provider: createMockProvider([stall()]), messages: question, control, runId: "held", clock });
    const child = nesting(kind, "child", () => ({
      messages: question,
      provider: createMockProvider([text("c")]),
      ...(what === "control" ? { control } : { runId: "held" }),
    }));
    const result = await play([toolCall("child"), text("Moving on.")], { tools: [child] }).result;
    // An agent tool cannot set a `runId`, so its nested run does not conflict with the other run.
    const runs = kind === "agent tool" && what === "runId";
    expect([result.text, outcomesOf(result)]).toEqual(["Moving on.", [`call_i0_0: ${runs ? "completed" : "failed"}`]]);
    control.kill();
    await holding;
  });

  it("has its own limits for iterations and restarts", async () => {
    const restart = tool("restart", () => contextRestart({ type: "context_restart_more", enhanced_context_item: { fact: 7 } }));
    const child = scripted([kind, "child"], [toolCall("restart"), toolCall("ok"), toolCall("ok"), text("c")], {
      tools: [ok, restart],
      limits: { maxIterations: 4 },
      middleware: [contextRestarts({ maxRestarts: 1 })],
    });
    const playing = play([toolCall("child"), text("Done.")], {
      tools: [child.tool],
      limits: { maxIterations: 2 },
      middleware: [contextRestarts({ maxRestarts: 0 })],
    });
    const result = await playing.result;
    expect([result.text, result.iterations, answersOf(result)[0]?.result]).toEqual(["Done.", 2, "c"]);
    expect(playing.recording.of("restart").map(({ path }) => path)).toEqual([["call_i0_0"]]);
    const context = { role: "user", content: 'Context:\n{"fact":7}' };
    expect(child.provider.requests[1]?.messages.at(-1)).toEqual(context);
    expect(playing.provider.requests[1]?.messages).not.toContainEqual(context);
  });
});

describe("an agent tool's timeouts", () => {
  it("do not include toolMs, whether set in the outer run or in the nested run", async () => {
    const child = scripted(["agent tool", "child"], [toolCall("slow"), toolCall("slow"), text("c")], {
      tools: [tool("slow", () => new Promise((resolve) => void playing.clock.setTimeout(() => resolve(1), 900)))],
      timeouts: { toolMs: 1_000 },
    });
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool], timeouts: { toolMs: 50 } });
    await playing.clock.runAll();
    const result = await playing.result;
    expect([outcomesOf(result), playing.endedAt()]).toEqual([["call_i0_0: completed"], 1_800]);
  });

  it("include streamIdleMs for a nested run's silent model", async () => {
    const child = scripted(["agent tool", "child"], [[text("x"), stall({ ignoreSignal: true })]]);
    const playing = play([toolCall("child"), text("Done.")], {
      tools: [child.tool],
      timeouts: { toolMs: 50, streamIdleMs: 400, toolCleanupMs: 20 },
    });
    await playing.clock.runAll();
    expect([answersOf(await playing.result)[0]?.result, playing.endedAt()]).toMatchObject([
      { reason: "timeout: stream-idle" },
      420,
    ]);
  });
});
