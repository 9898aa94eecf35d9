import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  FatalToolError,
  type LoopResult,
  type Middleware,
  type Tool,
  toolResult,
} from "turnwright";
import { createTestClock, finish, type MockPart, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const tools: readonly Tool[] = [
  tool("ok", () => "fine"),
  tool("bad", () => Promise.reject(new Error("no"))),
  tool("over", () => toolResult({ data: "bye", endTurn: true })),
  tool("restart", () => contextRestart({ type: "context_restart_x" })),
  tool("asked", () => "yes"),
];

const script = (iterations: string): readonly (readonly MockPart[])[] =>
  [...iterations.split("|"), ""].map((iteration) => {
    const names = iteration
      .trim()
      .split(/\s+/)
      .filter((name) => name !== "");
    return names.length === 0
      ? [text("Done.")]
      : names.map((name) => (name === "malformed" ? toolCall("ok", {}, { rawArgs: "{" }) : toolCall(name)));
  });

const middleware: readonly Middleware[] = [
  contextRestarts(),
  approve(({ name }) => (name === "asked" ? { kind: "deny" } : { kind: "approve" })),
];

const end = (iterations: string, cap: number): Promise<LoopResult> =>
  play(script(iterations), {
    tools,
    limits: { maxConsecutiveToolErrors: cap },
    middleware,
  }).result;

describe("limits.maxConsecutiveToolErrors", () => {
  it.for<[title: string, iterations: string, ending: string]>([
    ["allows two errors", "bad | bad", "answered"],
    ["ends the run after three errors in three messages", "bad | bad | bad", "tool-error-cap"],
    ["counts the errors in one message once, because the model has read none of them", "bad bad bad bad bad", "answered"],
    ["counts messages in which all calls failed", "bad bad | bad | bad bad bad", "tool-error-cap"],
    ["restarts its count after a success in another message", "bad | bad | ok | bad | bad", "answered"],
    ["restarts its count after a success before errors in one message", "bad | bad | ok bad bad | bad | bad", "answered"],
    ["restarts its count after a success that follows errors in one message", "bad | bad | bad bad ok | bad | bad", "answered"],
    ["counts again after a message with a success and an error", "bad ok | bad | bad | bad", "tool-error-cap"],
    ["restarts its count after endTurn beside errors", "bad | bad | over bad bad | bad | bad", "answered"],
    ["restarts its count after a context restart beside errors", "bad | bad | bad restart bad | bad | bad", "answered"],
    ["restarts its count after a context restart in another message", "bad | bad | restart | bad | bad", "answered"],
    ["counts calls to unknown tools", "nope | nope nope | nope", "tool-error-cap"],
    ["counts malformed calls", "malformed | malformed | malformed malformed", "tool-error-cap"],
    ["counts different kinds of errors together", "bad | nope | malformed", "tool-error-cap"],
    ["does not count denied calls", "asked asked | asked | asked", "answered"],
    ["is not reset by denied calls", "bad | asked | bad asked | asked | bad", "tool-error-cap"],
  ])("set to 3, %s", async ([, iterations, ending]) => {
    expect((await end(iterations, 3)).reason.kind).toBe(ending);
  });

  it("ends the run exactly at the limit, with a notice for users", async () => {
    let ran = 0;
    const counting = tool("bad", () => {
      ran += 1;
      throw new Error("no");
    });
    const playing = play(() => toolCall("bad"), { tools: [counting] });
    const result = await playing.result;
    expect(result.reason).toEqual({ kind: "tool-error-cap", count: 5 });
    expect([ran, playing.provider.calls, result.status]).toEqual([5, 5, "error"]);
    expect(playing.recording.of("notice").map((event) => event.kind)).toEqual(["tool-error-cap"]);

    const silent = play(() => toolCall("bad"), { tools: [counting], session: { surfaceUserErrors: false } });
    await silent.result;
    expect(silent.recording.of("notice")).toEqual([]);
  });

  it("counts a truncated call, a malformed call and a failed call once each", async () => {
    const playing = play([[toolCall("ok"), finish("length")], finish("malformed-call"), toolCall("bad"), text("Done.")], {
      tools,
      limits: { maxConsecutiveToolErrors: 3 },
    });
    expect([(await playing.result).reason.kind, playing.provider.calls]).toEqual(["tool-error-cap", 3]);
  });

  it("counts from zero in each run", async () => {
    for (let round = 0; round < 3; round += 1) expect((await end("bad | bad", 3)).reason.kind).toBe("answered");
  });

  it("never ends a run if set to Infinity", async () => {
    expect((await end("bad | bad | bad | bad | bad | bad | bad bad", Number.POSITIVE_INFINITY)).reason.kind).toBe("answered");
  });
});

describe("toolResult with endTurn", () => {
  it.for<[title: string, iterations: string, ending: string, requests: number]>([
    ["ends the run", "over", "end-turn", 1],
    ["ends the run if the other calls succeed", "ok over ok", "end-turn", 1],
    ["asks the model again if another call fails", "bad over | over", "end-turn", 2],
    ["asks the model again if a later call fails", "over bad", "answered", 2],
    ["asks the model again if another call is denied", "asked over", "answered", 2],
    ["asks the model again if another call names an unknown tool", "over nope", "answered", 2],
    ["asks the model again if another call is malformed", "malformed over", "answered", 2],
    ["ends the run in a later iteration", "ok | over", "end-turn", 2],
  ])("%s", async ([, iterations, ending, requests]) => {
    const playing = play(script(iterations), { tools, middleware });
    const result = await playing.result;
    expect([result.reason.kind, playing.provider.calls, answersOf(result).length]).toEqual([
      ending,
      requests,
      iterations.replaceAll("|", " ").split(/\s+/).length,
    ]);
  });

  it.for([
    ["fails", (): unknown => toolResult({ success: false, endTurn: true })],
    ["returns a context restart", (): unknown => ({ ...contextRestart({ type: "context_restart_x" }), endTurn: true })],
    ["returns endTurn in a plain object", (): unknown => ({ success: true, endTurn: true })],
  ] as const)("does not end the run if the tool %s", async ([, execute]) => {
    const { result } = play([toolCall("over"), text("On.")], { tools: [tool("over", execute)] });
    expect((await result).reason.kind).toBe("answered");
  });
});

describe("FatalToolError", () => {
  it("ends the run after the running calls finish, and prevents new calls", async () => {
    const clock = createTestClock();
    const fatal = tool("fatal", () => Promise.reject(new FatalToolError("The licence is revoked.", { cause: new Error("E7") })));
    const slow = tool("slow", () => new Promise((resolve) => clock.setTimeout(() => resolve("slow"), 50)));
    const batch = [toolCall("fatal"), toolCall("slow"), toolCall("slow"), toolCall("ok")];
    const playing = play([batch], { clock, tools: [...tools, fatal, slow], limits: { toolConcurrency: 3 } });
    await clock.advance(50);
    const result = await playing.result;
    expect(result.reason).toEqual({
      kind: "fatal-tool-error",
      toolName: "fatal",
      error: { name: "FatalToolError", message: "The licence is revoked.", cause: { name: "Error", message: "E7" } },
    });
    expect(result.error).toEqual(result.reason.kind === "fatal-tool-error" ? result.reason.error : undefined);
    expect(outcomesOf(result).map((line) => line.split(" ")[1])).toEqual(["failed", "completed", "completed", "not-run"]);
  });

  it("overrides the error limit and endTurn", async () => {
    const fatal = tool("fatal", () => Promise.reject(new FatalToolError("gone")));
    const playing = play([[toolCall("bad"), toolCall("over"), toolCall("fatal")]], {
      tools: [...tools, fatal],
      limits: { maxConsecutiveToolErrors: 1 },
    });
    expect((await playing.result).reason.kind).toBe("fatal-tool-error");
  });

  it("is recognized from any copy of the package", async () => {
    const other = Object.assign(new Error("gone"), { [Symbol.for("turnwright.FatalToolError")]: true });
    const { result } = play([toolCall("fatal")], { tools: [tool("fatal", () => Promise.reject(other))] });
    expect((await result).reason.kind).toBe("fatal-tool-error");
  });
});

describe("tool.retry", () => {
  const retrying = (
    execute: (attempt: number) => unknown,
    maxAttempts = 3,
    timeoutMs?: number,
  ): { readonly tool: Tool; ran(): number } => {
    let ran = 0;
    return {
      tool: tool("try", () => execute((ran += 1)), { idempotent: true, retry: { maxAttempts }, timeoutMs }),
      ran: () => ran,
    };
  };
  const busy = (): never => {
    throw new Error("busy");
  };

  it.for<[how: string, execute: (attempt: number) => unknown, outcome: string, ran: number]>([
    ["succeeds on the first attempt", () => "ok", "completed", 1],
    ["throws twice", (attempt) => (attempt < 3 ? busy() : "ok"), "completed", 3],
    ["rejects once", (attempt) => (attempt < 2 ? Promise.reject(new Error("busy")) : "ok"), "completed", 2],
    [
      "returns a failed result once",
      (attempt) => (attempt < 2 ? toolResult({ success: false, error: "busy" }) : "ok"),
      "completed",
      2,
    ],
    ["throws each time", busy, "failed", 3],
    ["returns a failed result each time", () => toolResult({ success: false, error: "busy" }), "failed", 3],
    ["throws a FatalToolError", () => Promise.reject(new FatalToolError("gone")), "failed", 1],
  ])("makes the expected number of attempts within one call if the tool %s", async ([, execute, outcome, expected]) => {
    const { tool: again, ran } = retrying(execute);
    const playing = play([toolCall("try"), text("Done.")], { tools: [again] });
    const result = await playing.result;
    expect([outcomesOf(result), ran()]).toEqual([[`call_i0_0: ${outcome}`], expected]);
    // All attempts of a call together count as one call and as one error.
    expect([result.functionHistory.length, result.toolCallsExecuted, playing.recording.of("tool-start").length]).toEqual([
      1, 1, 1,
    ]);
  });

  it("counts all failed attempts as one error", async () => {
    const { tool: again } = retrying(busy, 9);
    const playing = play(() => toolCall("try"), { tools: [again], limits: { maxConsecutiveToolErrors: 2 } });
    expect([(await playing.result).reason.kind, playing.provider.calls]).toEqual(["tool-error-cap", 2]);
  });

  it("uses a single timeout for all attempts", async () => {
    const clock = createTestClock();
    const { tool: again, ran } = retrying(
      () => new Promise((_, reject) => clock.setTimeout(() => reject(new Error("busy")), 40)),
      9,
      100,
    );
    const playing = play([toolCall("try"), text("Done.")], { clock, tools: [again] });
    await clock.advance(1_000);
    expect([outcomesOf(await playing.result), playing.endedAt(), ran()]).toEqual([["call_i0_0: timed-out"], 100, 3]);
  });

  it("makes one attempt if the tool is not idempotent", async () => {
    let ran = 0;
    const registry = {
      definitions: () => definitions,
      executeTool: (): never => {
        ran += 1;
        return busy();
      },
    };
    const definitions = [{ name: "try", description: "", inputSchema: {}, retry: { maxAttempts: 3 } }];
    await play([toolCall("try"), text("Done.")], { tools: registry }).result;
    expect(ran).toBe(1);
  });
});
