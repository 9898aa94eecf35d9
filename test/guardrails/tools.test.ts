import { describe, expect, it } from "vitest";
import { approve, type Approve, defineTool, memoryJournal, runToolLoop, type UserMessage } from "turnwright";
import { guardrails, type ToolCheck } from "turnwright/middleware";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, recordEvents, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly UserMessage[] = [{ role: "user", content: "Read it." }];

function createStage(tools: readonly ToolCheck[], policy?: Approve) {
  const read: string[] = [];
  const tool = defineTool({
    name: "read",
    description: "",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => (read.push(path), `content of ${path}`),
  });
  return { read, options: { messages, tools: [tool], middleware: [guardrails({ tools }), approve(policy)] } };
}

const one = (): number => 1;
const pathOf = (args: unknown): string => (args as { path: string }).path;
const inside: ToolCheck = {
  name: "paths",
  check: ({ args }) => (pathOf(args).startsWith("/etc") ? { kind: "refuse", reason: "outside the folder" } : { kind: "pass" }),
};

describe("guardrail tool checks", () => {
  it("deny one call, with a reason for the model, and let the other calls run", async () => {
    const { read, options } = createStage([inside]);
    const provider = createMockProvider([
      [toolCall("read", { path: "/etc/passwd" }), toolCall("read", { path: "a" })],
      text("Done."),
    ]);
    const recording = recordEvents();
    const result = await runToolLoop({ ...options, provider, events: recording.emitter });
    expect(read).toEqual(["a"]);
    expect(JSON.stringify(provider.requests[1]?.messages.at(-1))).toContain("outside the folder");
    expect(recording.of("approval-decided").map(({ decision, guardrail }) => ({ decision, guardrail }))).toEqual([
      { decision: "deny", guardrail: { name: "paths" } },
    ]);
    expect(result.status).toBe("completed");
  });

  it("rewrite a call's arguments, which are then validated again", async () => {
    const lower: ToolCheck = {
      name: "lower",
      check: ({ args }) => ({ kind: "rewrite", args: { path: pathOf(args).toLowerCase() } }),
    };
    const { read, options } = createStage([lower, inside]);
    const provider = createMockProvider([
      [toolCall("read", { path: "README" }), toolCall("read", { path: "/ETC/x" })],
      text("Done."),
    ]);
    await runToolLoop({ ...options, provider });
    expect(read).toEqual(["readme"]);
  });

  it("fail their call, but not the run, if they take longer than timeouts.callbackMs", async () => {
    let aborted = false;
    const hanging: ToolCheck = {
      name: "hangs",
      check: (_, { signal, tool }) => {
        signal.addEventListener("abort", () => (aborted = tool.name === "read"));
        return new Promise(() => {});
      },
    };
    const { read, options } = createStage([inside, hanging]);
    const clock = createTestClock();
    const provider = createMockProvider([toolCall("read", { path: "a" }), text("Done.")]);
    const recording = recordEvents();
    const running = runToolLoop({ ...options, provider, clock, events: recording.emitter });
    await clock.advance(29_999);
    expect([aborted, provider.calls]).toEqual([false, 1]);
    await clock.advance(1);
    const { text: answer, calls } = await running;
    expect([answer, read, aborted, clock.pending]).toEqual(["Done.", [], true, 0]);
    expect(calls.map(({ outcome }) => outcome)).toEqual(["approval-failed"]);
    expect(JSON.stringify(recording.of("approval-decided"))).toContain(
      'The check took longer than 30000 ms (\\"timeouts.callbackMs\\").',
    );
  });

  it("end the run before any other call if a check denies a call with `endsRun: true`", async () => {
    const strict: ToolCheck = {
      name: "strict",
      check: (call) =>
        (inside.check(call, {} as never) as { kind: string }).kind === "pass"
          ? { kind: "pass" }
          : { kind: "refuse", reason: "no", endsRun: true },
    };
    const { read, options } = createStage([strict]);
    const provider = createMockProvider([[toolCall("read", { path: "a" }), toolCall("read", { path: "/etc/x" })]]);
    const journal = memoryJournal();
    const result = await runToolLoop({ ...options, provider, journal, runId: "r1" });
    expect({ status: result.status, reason: result.reason, read }).toEqual({
      status: "error",
      reason: { kind: "tool-guardrail", guardrail: "strict", toolName: "read", reason: "no" },
      read: [],
    });
    const again = await runToolLoop({ ...options, provider: createMockProvider([]), journal, runId: "r1" });
    expect(again.reason).toEqual(result.reason);
  });

  it.for([
    ["needs approval", { needsApproval: true, execute: one }, ["wait", "evil"]],
    ["needs approval and comes later", { needsApproval: true, execute: one }, ["evil", "wait"]],
    ["gets its result from outside", {}, ["wait", "evil"]],
  ] as const)("do not leave a call waiting if a check ends the run and the call %s", async ([, traits, names]) => {
    const journal = memoryJournal();
    const fields = { description: "", inputSchema: { type: "object" } };
    const tools = [defineTool({ name: "wait", ...fields, ...traits }), defineTool({ name: "evil", ...fields, execute: one })];
    const check: ToolCheck = {
      name: "strict",
      check: ({ name }) => (name === "evil" ? { kind: "refuse", reason: "no", endsRun: true } : { kind: "pass" }),
    };
    const provider = createMockProvider([names.map((name) => toolCall(name))]);
    const middleware = [guardrails({ tools: [check] })];
    const result = await runToolLoop({ messages, tools, middleware, provider, journal });
    const last = result.messages.at(-1);
    const outcomes = last?.role === "tool" ? last.results.map(({ name, outcome }) => `${name} ${outcome}`).sort() : [];
    expect([result.reason.kind, outcomes, result.pendingCalls]).toEqual(["tool-guardrail", ["evil denied", "wait not-run"], []]);
    const { messages: inspected, pendingCalls, reason } = await inspectJournal(journal);
    expect({ inspected, pendingCalls, reason }).toEqual({ inspected: result.messages, pendingCalls: [], reason: result.reason });
    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
    const again = await runToolLoop({
      messages,
      tools,
      middleware,
      provider: createMockProvider([]),
      journal: replayJournal(saved),
    });
    expect(again.messages).toEqual(result.messages);
  });

  it("run before approve, which receives the rewritten arguments", async () => {
    const asked: unknown[] = [];
    const lower: ToolCheck = {
      name: "lower",
      check: ({ args }) => ({ kind: "rewrite", args: { path: pathOf(args).toLowerCase() } }),
    };
    const { read, options } = createStage([lower], ({ args }) => (asked.push(args), { kind: "approve" }));
    await runToolLoop({ ...options, provider: createMockProvider([toolCall("read", { path: "A" }), text("Done.")]) });
    expect({ asked, read }).toEqual({ asked: [{ path: "a" }], read: ["a"] });
  });

  it("show the rewritten arguments to the person who decides", async () => {
    const lower: ToolCheck = {
      name: "lower",
      check: ({ args }) => ({ kind: "rewrite", args: { path: pathOf(args).toLowerCase() } }),
    };
    const { read, options } = createStage([lower], () => ({ kind: "ask" }));
    const provider = createMockProvider([toolCall("read", { path: "A" }), text("Done.")]);
    const run = { ...options, provider, journal: memoryJournal(), runId: "r1" };
    const { reason } = await runToolLoop(run);
    expect([reason, read]).toMatchObject([{ kind: "approval-required", calls: [{ args: { path: "a" } }] }, []]);
    const { functionHistory } = await runToolLoop({ ...run, answers: { call_i0_0: { kind: "approve" } } });
    expect([functionHistory[0]?.outcome, read]).toEqual(["completed", ["a"]]);
  });

  it("check arguments again after an edit by a person or by approve", async () => {
    const edit = { kind: "modify", args: { path: "/etc/passwd" } } as const;
    const script = [toolCall("read", { path: "a" }), text("Done.")];
    const { read, options } = createStage([inside], () => edit);
    const result = await runToolLoop({ ...options, provider: createMockProvider(script) });
    const waiting = createStage([inside], () => ({ kind: "ask" }));
    const run = { ...waiting.options, provider: createMockProvider(script), journal: memoryJournal(), runId: "r1" };
    await runToolLoop(run);
    const answers = { call_i0_0: edit };
    const edited = await runToolLoop({ ...run, answers });
    for (const { calls } of [result, edited]) expect(calls).toMatchObject([{ outcome: "denied" }]);
    expect([...read, ...waiting.read]).toEqual([]);
    expect((await runToolLoop({ ...run, answers })).calls).toEqual(edited.calls);
  });

  it.for<[title: string, check: ToolCheck["check"]]>([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["returns no verdict", () => ({ kind: "fine" }) as never],
  ])('refuse a call with the outcome "approval-failed" if a check %s', async ([, check]) => {
    const { read, options } = createStage([{ name: "broken", check }]);
    const result = await runToolLoop({
      ...options,
      provider: createMockProvider([toolCall("read", { path: "a" }), text("Done.")]),
    });
    expect({ read, outcome: result.functionHistory[0]?.outcome }).toEqual({ read: [], outcome: "approval-failed" });
  });
});

describe("guardrails()", () => {
  const check = (): never => {
    throw new Error("not called");
  };
  it.for<[title: string, options: unknown, message: RegExp]>([
    ["no checks", {}, /at least one check/],
    ["an unknown stage", { ouput: [] }, /output/],
    ["a check without a name", { input: [{ check }] }, /guardrails\.input\[0\]\.name/],
    ["a window of 0", { output: [{ name: "x", check, window: 0 }] }, /guardrails\.output\[0\]\.window/],
    ["a window for an input check", { input: [{ name: "x", check, window: 9 }] }, /window/],
    ["an unknown part", { output: [{ name: "x", check, parts: ["title"] }] }, /parts/],
  ])("throws a LoopError for %s", ([, options, message]) => {
    expect(() => guardrails(options as never)).toThrow(message);
  });

  it("is the only function whose guardrails runToolLoop accepts", async () => {
    const middleware = { guardrails: { kind: "guardrails" } } as never;
    await expect(runToolLoop({ provider: createMockProvider([text("Hi")]), messages, middleware })).rejects.toMatchObject({
      code: "invalid-option",
    });
  });
});
