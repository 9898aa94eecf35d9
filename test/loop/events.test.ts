import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  createLoopEvents,
  gateTools,
  type LoopEvent,
  type LoopOptions,
  type Middleware,
  processResults,
  toolResult,
} from "turnwright";
import { createTestClock, fail, finish, type MockPart, reasoning, stall, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "./play.ts";

const call = (name: string, args: object = {}): MockPart => toolCall(name, JSON.parse(JSON.stringify(args)), { fragments: 0 });

describe("loop events", () => {
  it("form a tree of iterations, text and tool calls", async () => {
    const clock = createTestClock();
    const work = tool("work", async (args, { progress }) => {
      const { ms } = args as { readonly ms: number };
      progress({ half: true });
      await new Promise((resolve) => void clock.setTimeout(() => resolve(1), ms));
      return ms;
    });
    const script = [
      [
        reasoning("Hm, ", { chunks: 2 }),
        text("one moment. ", { chunks: 3 }),
        call("work", { ms: 20 }),
        call("wrok"),
        call("work", { ms: 10 }),
      ],
      [call("denied"), call("broken"), call("over")],
      call("over"),
    ];
    const playing = play(script, {
      clock,
      tools: [
        work,
        tool("denied", () => 1),
        tool("broken", () => Promise.reject(new Error("no"))),
        tool("over", () => toolResult({ endTurn: true })),
      ],
      middleware: [approve(({ name }) => (name === "denied" ? { kind: "deny", reason: "no" } : { kind: "approve" }))],
    });
    await clock.advance(100);
    await playing.result;
    expect(playing.recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          reasoning-delta "Hm, "
          text-delta "one moment. "
          tool-args-end work (call_i0_0) {"ms":20}
          tool-args-end wrok (call_i0_1) {}
          tool-args-end work (call_i0_2) {"ms":10}
          tool-end wrok (call_i0_1) unknown-tool
          approval-asked work (call_i0_0) {"ms":20}
          approval-asked work (call_i0_2) {"ms":10}
          approval-decided work (call_i0_0) approve
          approval-decided work (call_i0_2) approve
          tool-start work (call_i0_0) {"ms":20}
          tool-progress work (call_i0_0) {"half":true}
          tool-start work (call_i0_2) {"ms":10}
          tool-progress work (call_i0_2) {"half":true}
          tool-end work (call_i0_2) completed
          tool-end work (call_i0_0) completed
        iteration-end 0 tool-calls
        iteration-start 1
          tool-args-end denied (call_i1_0) {}
          tool-args-end broken (call_i1_1) {}
          tool-args-end over (call_i1_2) {}
          approval-asked denied (call_i1_0) {}
          approval-asked broken (call_i1_1) {}
          approval-asked over (call_i1_2) {}
          approval-decided denied (call_i1_0) deny
          approval-decided broken (call_i1_1) approve
          approval-decided over (call_i1_2) approve
          tool-end denied (call_i1_0) denied
          tool-start broken (call_i1_1) {}
          tool-start over (call_i1_2) {}
          tool-end over (call_i1_2) completed
          tool-end broken (call_i1_1) failed
        iteration-end 1 tool-calls
        iteration-start 2
          tool-args-end over (call_i2_0) {}
          approval-asked over (call_i2_0) {}
          approval-decided over (call_i2_0) approve
          tool-start over (call_i2_0) {}
          tool-end over (call_i2_0) completed
        iteration-end 2 tool-calls
      run-end completed end-turn"
    `);
  });

  it("include each fragment of a call's arguments", async () => {
    const playing = play([
      [toolCall("t", { city: "Oslo" }, { fragments: 3 }), toolCall("t", { city: "Rome" }, { fragments: 2 })],
      text("Done."),
    ]);
    await playing.result;
    const pieces = playing.recording.of("tool-args-delta");
    const textOf = (id: string): string => pieces.flatMap((event) => (event.callId === id ? [event.text] : [])).join("");
    expect([textOf("call_i0_0"), textOf("call_i0_1")]).toEqual(['{"city":"Oslo"}', '{"city":"Rome"}']);
    expect(pieces.map(({ name, index }) => [name, index])).toEqual([0, 0, 0, 1, 1].map((index) => ["t", index]));
    expect(playing.recording.of("tool-args-end").map(({ callId, index, args }) => [callId, index, args])).toEqual([
      ["call_i0_0", 0, { city: "Oslo" }],
      ["call_i0_1", 1, { city: "Rome" }],
    ]);
  });

  it("include continuations, context restarts, gated tools and a broken stream", async () => {
    const playing = play(
      [
        [text("One "), finish("paused")],
        [text("two. "), call("enrich"), call("other")],
        [text("Thr"), fail({ status: 503 })],
      ],
      {
        tools: [
          tool("enrich", () => contextRestart({ type: "context_restart_profile", disable_tools: ["enrich"] })),
          tool("other", () => 1),
        ],
        middleware: [
          contextRestarts(),
          gateTools({
            active: true,
            allowedNames: ["enrich"],
            triggerMatchByToolName: new Map([["enrich", { trigger: "who*", match: "who", source: "stem" }]]),
          }),
        ],
      },
    );
    await playing.result;
    expect(playing.recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          text-delta "One "
        iteration-end 0 completed
        iteration-start 0 continuation 1
          text-delta "two. "
          tool-args-end enrich (call_i0_0) {}
          tool-args-end other (call_i0_1) {}
          tool-end other (call_i0_1) blocked
          tool-start enrich (call_i0_0) {}
          tool-end enrich (call_i0_0) completed
          hidden-notice enrich (call_i0_0) stem "who"
          restart enrich (call_i0_0) profile
        iteration-end 0 continuation 1 tool-calls
        iteration-start 1
          text-delta "Thr"
        iteration-end 1 error
      run-end error provider-error"
    `);
  });

  it("contain the run id", async () => {
    const playing = play([[call("t")], text("Done.")], { runId: "named", tools: [tool("t", () => 1)] });
    await playing.result;
    expect(new Set(playing.recording.events.map((event) => event.runId))).toEqual(new Set(["named"]));
    expect(
      playing.recording
        .of("iteration-end")
        .map(({ iteration, continuation, calls, provider, model, finish: how }) => [
          iteration,
          continuation,
          calls,
          provider,
          model,
          how,
        ]),
    ).toEqual([
      [0, 0, [{ callId: "call_i0_0", name: "t", index: 0, outcome: "completed" }], "mock", "mock-model", "tool-calls"],
      [1, 0, [], "mock", "mock-model", "stop"],
    ]);
  });

  it("end with a run-end event that contains the result", async () => {
    const playing = play([[call("t")], text("Done.")], { tools: [tool("t", () => 1)], pricing: () => 0.25 });
    const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = await playing.result;
    expect(playing.recording.of("run-end")).toEqual([
      {
        type: "run-end",
        runId: expect.any(String),
        iteration: 1,
        status,
        reason,
        usage,
        costUSD,
        iterations,
        toolCallsExecuted,
        durationMs,
      },
    ]);
    expect([costUSD, iterations, toolCallsExecuted]).toEqual([0.5, 2, 1]);
  });

  it("are sent to every listener", async () => {
    const heard: string[] = [];
    const events = createLoopEvents();
    events
      .on("text-delta", ({ text: said }) => heard.push(`a ${said}`))
      .on("text-delta", ({ text: said }) => heard.push(`b ${said}`));
    await play([text("Hi")], { events }).result;
    expect(heard).toEqual(["a Hi", "b Hi"]);
  });
});

describe("notice events", () => {
  const noticesOf = async (count: number, options: Partial<LoopOptions> = {}): Promise<readonly string[]> => {
    let ran = 0;
    const tools = [tool("t", () => (ran += 1))];
    const playing = play((_, index) => (index < count ? call("t") : text("Done.")), { tools, ...options });
    await playing.result;
    return playing.recording.of("notice").map(({ kind, iteration }) => `${kind} ${iteration}`);
  };

  it.for<[title: string, count: number, options: Partial<LoopOptions>, notices: readonly string[]]>([
    ["are not sent in a run of 19 iterations with tools", 19, {}, []],
    ["are sent once at iteration 20", 20, {}, ["still-working 20"]],
    ["are sent only once in 45 iterations", 45, {}, ["still-working 20"]],
    ["are sent with surfaceUserErrors: true", 45, { session: { surfaceUserErrors: true } }, ["still-working 20"]],
    ["are not sent with surfaceUserErrors: false", 45, { session: { surfaceUserErrors: false } }, []],
    ["are sent at limits.softWarnIteration", 5, { limits: { softWarnIteration: 2 } }, ["still-working 2"]],
    ["are sent at iteration 0 with softWarnIteration: 0", 5, { limits: { softWarnIteration: 0 } }, ["still-working 0"]],
    ["are not sent with softWarnIteration: Infinity", 45, { limits: { softWarnIteration: Number.POSITIVE_INFINITY } }, []],
    ["are sent when maxIterations is reached", 5, { limits: { maxIterations: 3 } }, ["max-iterations 2"]],
    [
      "are not sent at maxIterations with surfaceUserErrors: false",
      5,
      { limits: { maxIterations: 3 }, session: { surfaceUserErrors: false } },
      [],
    ],
  ])("%s", async ([, count, options, notices]) => {
    expect(await noticesOf(count, options)).toEqual(notices);
  });

  it("are sent once before iteration 21, even if this iteration has continuations", async () => {
    let ran = 0;
    const playing = play((_, index) => (index < 20 ? call("t") : index < 23 ? [text("."), finish("paused")] : text("Done.")), {
      tools: [tool("t", () => (ran += 1))],
    });
    await playing.result;
    const types = playing.recording.types();
    const at = types.indexOf("notice");
    expect([types.slice(at - 1, at + 2), types.lastIndexOf("notice")]).toEqual([
      ["iteration-end", "notice", "iteration-start"],
      at,
    ]);
    expect(playing.recording.events[at + 1]).toMatchObject({ type: "iteration-start", iteration: 20, continuation: 0 });
  });
});

describe("tool-end events", () => {
  const restarting = contextRestart({ type: "context_restart_profile", pending_context_key: "k" });

  it.each([
    ["processed", "long", (ask: () => string): Middleware => processResults({ processor: ask })],
    ["followed by a stash item", restarting, (ask: () => string): Middleware => contextRestarts({ stash: { take: ask } })],
  ])("are sent before a result is %s", async (_, result, middleware) => {
    const seen: boolean[] = [];
    const ask = (): string => (seen.push(playing.recording.types().includes("tool-end")), "ok");
    const playing: Playing = play([call("give"), text("Done.")], {
      tools: [tool("give", () => result)],
      middleware: [middleware(ask)],
    });
    await playing.result;
    expect([seen, playing.recording.of("tool-end").length]).toEqual([[true], 1]);
  });
});

describe("late-result events", () => {
  it("are sent if a tool from an earlier iteration ends during the run", async () => {
    const clock = createTestClock();
    const late = tool("late", () => new Promise((resolve) => void clock.setTimeout(() => resolve(1), 50)), { timeoutMs: 10 });
    const playing = play([call("late"), [text("On."), stall()]], {
      clock,
      tools: [late],
      timeouts: { streamIdleMs: 100, toolCleanupMs: 0 },
    });
    await clock.advance(1_000);
    await playing.result;
    const types = playing.recording.events.map((event: LoopEvent) => event.type);
    expect(types.slice(-6)).toEqual(["iteration-start", "text-delta", "late-result", "iteration-end", "notice", "run-end"]);
  });
});
