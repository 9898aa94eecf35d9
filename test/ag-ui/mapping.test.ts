import { describe, expect, it } from "vitest";
import {
  type ApprovalDecision,
  approve,
  contextRestarts,
  createLoopControl,
  defineAgentTool,
  type LoopOptions,
  withFallback,
} from "turnwright";
import { createMockProvider, fail, type MockPart, type MockScript, reasoning, text, toolCall } from "turnwright/testing";
import { createAGUIMapper } from "turnwright/ag-ui";
import { tool } from "../loop/play.ts";
import { setUpPayment } from "../ui-message-stream/payment.ts";
import { readMessages, resultsOf, textOf, versions } from "./clients.ts";
import { checkEvents, lines, play, saved, toEvents } from "./mapping-stage.ts";

const messages = [{ role: "user" as const, content: "Go." }];

describe("createAGUIMapper", () => {
  it("maps a run with reasoning, a call and an approval to AG-UI events", async () => {
    const { events } = await play({ ...setUpPayment().run });
    const sent = toEvents(events, { threadId: "t", runId: "c" });
    checkEvents(sent);
    expect(lines(sent)).toMatchInlineSnapshot(`
      [
        "RUN_STARTED threadId="t" runId="c" protocolVersion="1.0"",
        "STEP_STARTED stepName="iteration-0"",
        "REASONING_START messageId="r:r0-0"",
        "REASONING_MESSAGE_START messageId="r:r0-0" role="reasoning"",
        "REASONING_MESSAGE_CONTENT messageId="r:r0-0" delta="Look first."",
        "REASONING_MESSAGE_END messageId="r:r0-0"",
        "REASONING_END messageId="r:r0-0"",
        "TEXT_MESSAGE_START messageId="r:0-1" role="assistant"",
        "TEXT_MESSAGE_CONTENT messageId="r:0-1" delta="One"",
        "TEXT_MESSAGE_CONTENT messageId="r:0-1" delta=" mom"",
        "TEXT_MESSAGE_CONTENT messageId="r:0-1" delta="ent."",
        "TEXT_MESSAGE_END messageId="r:0-1"",
        "TOOL_CALL_START toolCallId="r:call_i0_0" toolCallName="look" parentMessageId="r:0-1"",
        "TOOL_CALL_ARGS toolCallId="r:call_i0_0" delta="{\\"na"",
        "TOOL_CALL_ARGS toolCallId="r:call_i0_0" delta="me\\":\\""",
        "TOOL_CALL_ARGS toolCallId="r:call_i0_0" delta="tea\\"}"",
        "TOOL_CALL_END toolCallId="r:call_i0_0"",
        "CUSTOM name="tool-progress" value={"toolCallId":"r:call_i0_0","data":{"percent":50}}",
        "TOOL_CALL_RESULT messageId="r:call_i0_0:result" toolCallId="r:call_i0_0" role="tool" content="{\\"price\\":5}" metadata={"outcome":"completed"}",
        "STEP_FINISHED stepName="iteration-0"",
        "STEP_STARTED stepName="iteration-1"",
        "TEXT_MESSAGE_START messageId="r:1-0" role="assistant"",
        "TEXT_MESSAGE_CONTENT messageId="r:1-0" delta="Pay"",
        "TEXT_MESSAGE_CONTENT messageId="r:1-0" delta="ing."",
        "TEXT_MESSAGE_END messageId="r:1-0"",
        "TOOL_CALL_START toolCallId="r:call_i1_0" toolCallName="pay" parentMessageId="r:1-0"",
        "TOOL_CALL_ARGS toolCallId="r:call_i1_0" delta="{\\"amou"",
        "TOOL_CALL_ARGS toolCallId="r:call_i1_0" delta="nt\\":5}"",
        "TOOL_CALL_END toolCallId="r:call_i1_0"",
        "STEP_FINISHED stepName="iteration-1"",
        "RUN_FINISHED threadId="t" runId="c" result={"status":"suspended","reason":"approval-required","usage":{"inputTokens":240,"outputTokens":16,"totalTokens":256}} outcome={"type":"interrupt","interrupts":[{"id":"r:call_i1_0","toolCallId":"r:call_i1_0","message":"May \\"pay\\" run?","metadata":{"kind":"approval","toolName":"pay","input":{"amount":5}},"reason":"approval_required","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string","description":"The reason why the call is denied."},"args":{"description":"Edited arguments, which replace the arguments of the call."}},"required":["approved"]}}]} usage=[{"inputTokens":240,"outputTokens":16,"totalTokens":256}]",
      ]
    `);
  });

  it.each(versions)("sends emitted text as messages and emitted data as CUSTOM events to an AG-UI %s client", async (version) => {
    const inner = tool("inner", (_args, { emit }) => emit({ type: "text", text: "Deep." }));
    const nested = createMockProvider([toolCall("inner"), text("Nested.")]);
    const { events } = await play({
      script: [toolCall("look"), toolCall("child"), text("Done.")],
      tools: [
        tool("look", async function* (_args, { emit }) {
          emit({ type: "text", text: "Look" });
          emit({ type: "text", text: "ing." });
          yield 1;
          emit({ type: "data", name: "chart", data: [1], id: "a" });
          emit({ type: "text", text: "Found." });
          return "ok";
        }),
        defineAgentTool({
          name: "child",
          description: "",
          inputSchema: { type: "object" },
          emitText: true,
          prepare: () => ({ messages, provider: nested, tools: [inner] }),
        }),
      ],
    });
    const sent = toEvents(events, { version });
    checkEvents(sent);
    const page = await readMessages(sent, version);
    expect(page.flatMap(({ id, content }) => (id.includes(":text-") ? [[id, content]] : []))).toEqual([
      ["r:call_i0_0:text-0", "Looking."],
      ["r:call_i0_0:text-1", "Found."],
      ...(version === "1.0" ? [["r:call_i1_0/call_i0_0:text-0", "Deep."]] : []),
      ["r:call_i1_0:text-0", "Deep.Nested."],
    ]);
    const types = sent.map(({ type }) => type);
    expect(types.lastIndexOf("TEXT_MESSAGE_END", types.indexOf("STEP_FINISHED"))).toBe(types.indexOf("TOOL_CALL_RESULT") - 1);
    expect(sent.filter((event) => event.type === "CUSTOM" && event.name !== "cost" && event.name !== "subagent")).toEqual([
      { type: "CUSTOM", name: "tool-progress", value: { toolCallId: "r:call_i0_0", data: 1, preliminary: true } },
      { type: "CUSTOM", name: "tool-emit", value: { toolCallId: "r:call_i0_0", name: "chart", data: [1], id: "a" } },
    ]);
  });

  it.each(versions)("sends an AG-UI %s client the text and the results of the run", async (version) => {
    const { events, result } = await play({
      script: [
        [reasoning("Hm."), text("One moment."), toolCall("look", { a: 1 }), toolCall("break")],
        text("Done.", { chunks: 3 }),
      ],
      tools: [
        tool("look", () => ({ found: [1] })),
        tool("break", () => {
          throw new Error("secret");
        }),
      ],
    });
    const sent = toEvents(events, { version });
    checkEvents(sent);
    const page = await readMessages(sent, version);
    expect(textOf(page)).toBe(result.streamResults.map((one) => one.text).join(""));
    expect([...resultsOf(page)]).toEqual([
      ["r:call_i0_0", '{"found":[1]}'],
      ["r:call_i0_1", "The tool failed."],
    ]);
    expect(JSON.stringify(sent)).not.toContain("secret");
    expect(page.flatMap(({ toolCalls }) => toolCalls ?? []).map((call) => call.function)).toEqual([
      { name: "look", arguments: '{"a":1}' },
      { name: "break", arguments: "{}" },
    ]);
  });

  const flaky = (): LoopOptions["provider"] =>
    withFallback([
      createMockProvider([[text("Wrong. "), toolCall("look"), fail({ status: 503 })]], { id: "a" }),
      createMockProvider([[text("Right. "), toolCall("look")], text("Done.")], { id: "b" }),
    ]);

  it.each(versions)("sends no text from a discarded attempt to an AG-UI %s client", async (version) => {
    const { events } = await play({ provider: flaky(), tools: [tool("look", () => 1)] });
    expect(events.map(({ type }) => type)).toContain("attempt-discarded");
    const sent = toEvents(events, { version });
    checkEvents(sent);
    expect(JSON.stringify(sent)).not.toContain("Wrong");
    const page = await readMessages(sent, version);
    expect([textOf(page), resultsOf(page).size]).toEqual(["Right. Done.", 1]);
  });

  it("sends an attempt-discarded event for discarded text if holdAttempts is false", async () => {
    const { events } = await play({ provider: flaky(), tools: [tool("look", () => 1)] });
    const sent = toEvents(events, { holdAttempts: false });
    checkEvents(sent);
    await readMessages(sent, "1.0");
    expect(sent.filter(({ type }) => type === "CUSTOM")).toContainEqual({
      type: "CUSTOM",
      name: "attempt-discarded",
      value: { messageId: "r:0-0" },
    });
    expect(JSON.stringify(sent)).toContain("Wrong");
  });

  it.each(versions)("ends a failed run with RUN_ERROR and a neutral message for an AG-UI %s client", async (version) => {
    const { events } = await play({ script: [[text("Half"), fail({ status: 400 })]] });
    const sent = toEvents(events, { version });
    checkEvents(sent);
    expect(sent.at(-1)).toEqual({ type: "RUN_ERROR", message: "An error occurred.", code: "provider-error" });
    const own = toEvents(events, { version, onError: ({ kind }) => `A ${kind} failed.` });
    expect(own.at(-1)).toMatchObject({ message: "A run failed." });
  });

  it("ends the AG-UI event stream with RUN_ERROR if the source throws or ends too early", async () => {
    const mapper = createAGUIMapper();
    expect(mapper.end({ error: new Error("secret") })).toEqual([
      { type: "RUN_ERROR", message: "An error occurred.", code: "failed" },
    ]);
    const { events } = await play({ script: [text("One two.", { chunks: 2 })] });
    const delta = events.findIndex(({ type }) => type === "text-delta");
    const sent = toEvents(events.slice(0, delta + 1));
    expect(sent.map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "STEP_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "STEP_FINISHED",
      "RUN_ERROR",
    ]);
  });

  it('ends a stopped run with the outcome "cancelled" in AG-UI 1.0 and the outcome "success" in AG-UI 0.0', async () => {
    const control = createLoopControl();
    const stop = tool("stop", () => control.stop({ note: "secret" }));
    const { events } = await play({ script: [toolCall("stop"), text("No.")], tools: [stop], control });
    const ends = versions.map((version) => toEvents(events, { version }).at(-1));
    expect(ends).toMatchObject([
      { type: "RUN_FINISHED", outcome: { type: "cancelled" }, result: { status: "stopped-by-user", reason: "stopped" } },
      { type: "RUN_FINISHED", outcome: { type: "success" }, result: { status: "stopped-by-user" } },
    ]);
    expect(JSON.stringify(ends)).not.toContain("secret");
    checkEvents(toEvents(events));
  });

  it.each(["1.0", "0.0"] as const)("sends an AG-UI %s client the new arguments of an edited call", async (version) => {
    const tools = [tool("pay", () => 1)];
    const policy = (): ApprovalDecision => ({ kind: "modify", args: { amount: 1 } });
    const { events } = await play({
      tools,
      script: [toolCall("pay", { amount: 9 }), text("Done.")],
      middleware: [approve(policy)],
    });
    const sent = toEvents(events, { version });
    const decided = sent.filter((event) => event.type === "CUSTOM" && event.name === "approval-decided");
    expect(decided).toMatchObject([{ value: { toolCallId: "r:call_i0_0", decision: "modify", args: { amount: 1 } } }]);
  });

  it("does not send notices meant for developers", async () => {
    const tools = [tool("enrich", () => ({ type: "context_restart_profile" }))];
    const script = [toolCall("enrich"), toolCall("enrich", { n: 1 }), text("Done.")];
    const { events } = await play({ tools, script, middleware: [contextRestarts()], limits: { softWarnIteration: 1 } });
    expect(events.flatMap((event) => (event.type === "notice" ? [event.kind] : []))).toContain("unmarked-restart");
    const notices = toEvents(events).filter((event) => event.type === "CUSTOM" && event.name === "notice");
    expect(notices).toMatchObject([{ value: { kind: "still-working" } }]);
  });

  it("sends the result of a deferred call when the result arrives", async () => {
    const { events } = await play({ script: [toolCall("look"), text("Done.")], tools: [tool("look", () => 1)] });
    const end = events.findIndex(({ type }) => type === "tool-end");
    const deferred = events.map((event, index) => (index === end ? { ...event, outcome: "deferred" } : event)) as typeof events;
    const call = { ...events[end], outcome: "completed", result: "From outside." } as (typeof events)[number];
    const sent = toEvents([...deferred.slice(0, -1), call, ...deferred.slice(-1)]);
    const results = sent.filter(({ type }) => type === "TOOL_CALL_RESULT");
    expect(results).toMatchObject([{ content: "From outside.", metadata: { outcome: "completed" } }]);
    const [run] = events;
    const calls = [
      { id: "c", callId: "c", name: "ask", args: {}, waitsFor: "result", fromPage: true },
      { id: "d", callId: "d", name: "render", args: {}, waitsFor: "result" },
    ];
    const reason = { kind: "result-required", calls } as unknown as { kind: "drained" };
    const waiting = { ...events.at(-1), status: "suspended", reason } as (typeof events)[number];
    const interrupts = [
      { id: "r:c", reason: "client_tool_input", message: '"ask" is waiting for a result.', responseSchema: { type: "object" } },
      { id: "r:d", reason: "external_result", message: '"render" is waiting for a result.' },
    ];
    expect(toEvents(run === undefined ? [] : [run, waiting]).at(-1)).toMatchObject({
      outcome: { type: "interrupt", interrupts },
    });
  });

  const byTranscript =
    (turns: readonly (MockPart | readonly MockPart[])[]): MockScript =>
    ({ messages: all }) =>
      turns[all.filter(({ role }) => role === "assistant").length];
  const agent = (script: MockScript, ran: string[] = []) =>
    defineAgentTool({
      name: "agent",
      description: "An agent",
      inputSchema: { type: "object" },
      prepare: () => ({
        messages,
        provider: createMockProvider(script),
        tools: [tool("pay", () => ran.push("pay"), { needsApproval: true })],
      }),
      toResult: (result) => result.text,
    });

  it.each(versions)("shows an AG-UI %s client a nested run with a waiting call", async (version) => {
    const script = byTranscript([toolCall("agent"), text("Done.")]);
    const tools = [agent(byTranscript([[text("Inside."), toolCall("pay")], text("Paid.")]))];
    const first = await play({ script, tools });
    const sent = toEvents(first.events, { version });
    checkEvents(sent);
    const page = await readMessages(sent, version);
    const finished = sent.at(-1);
    const nestedId = version === "1.0" ? "r:call_i0_0/call_i0_0" : "r:call_i0_0";
    expect(finished).toMatchObject({
      type: "RUN_FINISHED",
      outcome: { type: "interrupt", interrupts: [{ id: "r:call_i0_0/call_i0_0", toolCallId: nestedId }] },
    });
    expect(sent.some(({ type }) => type === "SUBAGENT_STARTED")).toBe(version === "1.0");
    const answers = { "call_i0_0/call_i0_0": { kind: "approve" as const } };
    const second = await play({ script, tools, journal: saved(first.result), answers });
    const live = toEvents(second.events, { version, from: "live" });
    checkEvents(live);
    const after = await readMessages(live, version, page);
    const whole = toEvents(second.events, { version });
    checkEvents(whole);
    const reloaded = await readMessages(whole, version);
    expect([textOf(after), textOf(reloaded)]).toEqual(["Done.", "Done."]);
    expect(resultsOf(after)).toEqual(resultsOf(reloaded));
    expect(resultsOf(after).get("r:call_i0_0")).toBe("Paid.");
  });
});
