import { describe, expect, it } from "vitest";
import { createLoopControl, maskResults } from "turnwright";
import { endEarly, fail, reasoning, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, lines, play, versions } from "./mapping-stage.ts";

describe("createUIMessageMapper", () => {
  it("sends text, reasoning and a call as parts in steps", async () => {
    const look = tool("look", () => ({ price: 5 }));
    const script = [[reasoning("Hm."), text("So."), toolCall("look", { name: "tea" }, { fragments: 2 })], text("It is 5.")];
    const { events } = await play({ script, tools: [look] });
    const chunks = toChunks(events);
    await check(chunks, 6);
    expect(lines(chunks)).toMatchInlineSnapshot(`
      [
        "start messageId="r"",
        "start-step",
        "reasoning-start id="reasoning-0-0"",
        "reasoning-delta id="reasoning-0-0" delta="Hm."",
        "reasoning-end id="reasoning-0-0"",
        "text-start id="text-0-1"",
        "text-delta id="text-0-1" delta="So."",
        "text-end id="text-0-1"",
        "tool-input-start toolCallId="r:call_i0_0" toolName="look"",
        "tool-input-delta toolCallId="r:call_i0_0" inputTextDelta="{\\"name\\""",
        "tool-input-delta toolCallId="r:call_i0_0" inputTextDelta=":\\"tea\\"}"",
        "tool-input-available toolCallId="r:call_i0_0" toolName="look" input={"name":"tea"}",
        "tool-output-available toolCallId="r:call_i0_0" output={"price":5} providerExecuted=true",
        "finish-step",
        "start-step",
        "text-start id="text-1-0"",
        "text-delta id="text-1-0" delta="It is 5."",
        "text-end id="text-1-0"",
        "finish-step",
        "finish finishReason="stop" messageMetadata={"status":"completed","reason":{"kind":"answered"},"usage":{"inputTokens":120,"outputTokens":8,"totalTokens":128}}",
      ]
    `);
  });

  it("sends the cost so far as a transient part after each stream", async () => {
    const { events } = await play({ pricing: () => 0.5 });
    expect(toChunks(events).find(({ type }) => type === "data-cost")).toMatchInlineSnapshot(`
      {
        "data": {
          "costUSD": 0.5,
          "streams": 1,
          "usage": {
            "cacheWriteTokens": undefined,
            "cachedInputTokens": undefined,
            "inputTokens": 8,
            "outputTokens": 1,
            "reasoningTokens": undefined,
            "totalTokens": 9,
          },
        },
        "transient": true,
        "type": "data-cost",
      }
    `);
  });

  it("sends the metadata returned by options.metadata with start and finish", async () => {
    const { events } = await play({});
    const chunks = toChunks(events, { metadata: { model: "m" }, messageId: "mine" });
    expect(chunks[0]).toEqual({ type: "start", messageId: "mine", messageMetadata: { model: "m" } });
    expect(chunks.at(-1)).toMatchObject({ messageMetadata: { model: "m", status: "completed", reason: { kind: "answered" } } });
  });

  it("omits reasoning with sendReasoning: false", async () => {
    const { events } = await play({ script: [[reasoning("Hm."), text("So.")]] });
    expect(toChunks(events, { sendReasoning: false }).filter(({ type }) => type.startsWith("reasoning"))).toEqual([]);
  });

  it("sends masked results and notices as transient parts", async () => {
    const look = tool("look", () => "a".repeat(4_000));
    const script = [toolCall("look"), toolCall("look", { n: 1 }), toolCall("look", { n: 2 }), text("Done.")];
    const masking = maskResults({ keepIterations: 1 });
    const { events } = await play({ script, tools: [look], middleware: [masking], limits: { softWarnIteration: 1 } });
    const parts = toChunks(events).filter(({ type }) => type === "data-masked" || type === "data-notice");
    expect(lines(parts)).toMatchInlineSnapshot(`
      [
        "data-notice transient=true data={"kind":"still-working"}",
        "data-masked transient=true data={"toolCallIds":["r:call_i0_0"],"tokensBefore":1000,"tokensAfter":19}",
        "data-masked transient=true data={"toolCallIds":["r:call_i1_0"],"tokensBefore":1000,"tokensAfter":19}",
      ]
    `);
  });

  it("does not send notices meant for developers", async () => {
    const tools = [tool("enrich", () => ({ type: "context_restart_profile" }))];
    const script = [toolCall("enrich"), toolCall("enrich", { n: 1 }), text("Done.")];
    const { events } = await play({ tools, script, limits: { softWarnIteration: 1 } });
    const notices = toChunks(events).filter(({ type }) => type === "data-notice");
    expect(notices).toMatchObject([{ data: { kind: "still-working" } }]);
  });

  it.each(versions)("shows a steered message in AI SDK %i", async (version) => {
    const control = createLoopControl();
    const look = tool("look", () => {
      control.steer({
        role: "user",
        content: [
          { type: "text", text: "Faster." },
          { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
        ],
      });
      return 1;
    });
    const { events } = await play({ script: [toolCall("look"), text("Done.")], tools: [look], control });
    const chunks = toChunks(events, { version });
    await check(chunks, version);
    const parts = [
      { type: "text", text: "Faster." },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
    ];
    const id = "steered-1-1";
    const expected = version === 7 ? { type: "steering-message", id, parts } : { type: "data-steered", id, data: { parts } };
    expect(chunks).toContainEqual(expected);
  });
});

describe("createUIMessageMapper: the end of a run", () => {
  it("has a neutral message after an error", async () => {
    const { events } = await play({ script: [fail({ status: 401, message: "key sk-secret is wrong" })] });
    const chunks = toChunks(events);
    await check(chunks, 6);
    expect(JSON.stringify(chunks)).not.toContain("secret");
    expect(lines(chunks).slice(-3)).toMatchInlineSnapshot(`
      [
        "message-metadata messageMetadata={"status":"error","reason":{"kind":"provider-error"},"usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}",
        "error errorText="An error occurred."",
        "finish finishReason="error" messageMetadata={"status":"error","reason":{"kind":"provider-error"},"usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}",
      ]
    `);
  });

  const endings = [
    ["a complete answer", { script: [text("Hi.")] }, "stop", "stop"],
    ["an incomplete stream", { script: [[text("Hi."), endEarly()]] }, "error", "error"],
    [
      "reaching max-iterations",
      { script: [toolCall("look")], limits: { maxIterations: 1 }, tools: [tool("look", () => 1)] },
      "error",
      "error",
    ],
    [
      "a call that waits for approval",
      { script: [toolCall("look")], tools: [tool("look", () => 1, { needsApproval: true })] },
      "tool-calls",
      "tool-calls",
    ],
    ["an abort", { script: [text("Hi.")], signal: AbortSignal.abort() }, "other", "interrupted"],
  ] as const;

  it.each(endings)("has the matching finish reason after %s", async (...[, options, six, seven]) => {
    const { events } = await play(options);
    for (const [version, finishReason] of [
      [5, six],
      [6, six],
      [7, seven],
    ] as const) {
      const chunks = toChunks(events, { version });
      await check(chunks, version);
      expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason });
    }
  });

  it("closes all open parts if the events end early", async () => {
    const look = tool("look", () => 1);
    const { events } = await play({
      script: [[reasoning("Hm."), text("So."), toolCall("look", {}, { fragments: 1 })], text("Hi.")],
      tools: [look],
    });
    for (let count = 1; count < events.length; count += 1)
      for (const version of versions) await check(toChunks(events.slice(0, count), { version }), version);
    expect(toChunks([])).toEqual([]);
  });
});
