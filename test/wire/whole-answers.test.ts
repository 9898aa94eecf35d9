import { createTestClock } from "turnwright/testing";
import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import { chatText, connect, createRecorder, outputText, refuse, type SentBody, user, wholeResponse } from "./service-client.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});
const extra = { stream: false };
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

const choice = (message: object, finish: string): object => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  usage,
});
const call = (id: string): object => ({ id, type: "function", function: { name: "look", arguments: "{}" } });

const completion = ({ messages }: SentBody): object =>
  messages.length > 1
    ? choice({ content: "Seen.", reasoning_content: "Hm." }, "stop")
    : choice({ content: null, tool_calls: [call("c1"), call("c2")] }, "tool_calls");
const chatAnswer = (body: SentBody): Response => Response.json(completion(body));

const responsesCall = { id: "fc_1", type: "function_call", status: "completed", call_id: "c1", name: "look", arguments: "{}" };
const responsesAnswer = ({ input }: SentBody): Response =>
  Response.json(wholeResponse(input.length > 1 ? outputText("Seen.") : responsesCall));

describe("stream: false in extra", () => {
  it("makes openaiChat read whole answers with calls, reasoning and token counts", async () => {
    const { fetch, bodies } = createRecorder(chatAnswer);
    const provider = openaiChat({ client: connect(fetch), model: "m" });
    const result = await runToolLoop({ provider, tools: [look], messages: [user("Look.")], modelSettings: { extra } });
    expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { totalTokens: 30 } });
    expect(result.functionHistory).toHaveLength(2);
    expect(result.messages.at(-1)).toMatchObject({
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "Seen." },
      ],
    });
    expect(bodies.map(({ stream, stream_options }) => [stream, stream_options])).toEqual([
      [false, undefined],
      [false, undefined],
    ]);
  });

  it("lets openaiChat read a completion in the `data` field", async () => {
    const { fetch } = createRecorder((body) => Response.json({ data: completion(body), success: true }));
    const provider = openaiChat({ client: connect(fetch), model: "m" });
    const result = await runToolLoop({ provider, tools: [look], messages: [user("Look.")], modelSettings: { extra } });
    expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { totalTokens: 30 } });
  });

  it("makes openaiResponses read whole answers", async () => {
    const { fetch, bodies } = createRecorder(responsesAnswer);
    const provider = openaiResponses({ client: connect(fetch), model: "m" });
    const result = await runToolLoop({ provider, tools: [look], messages: [user("Look.")], modelSettings: { extra } });
    expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { totalTokens: 10 } });
    expect(bodies).toMatchObject([{ stream: false }, { stream: false }]);
  });

  it.for<[what: string, answer: object, error: object]>([
    [
      "an error with status 200",
      { error: { message: "The model is overloaded.", code: 503 } },
      { message: "The model is overloaded." },
    ],
    ["a response without an answer", { id: "x" }, { code: "stream-ended-early" }],
  ])("makes an openaiChat run fail after %s", async ([, answer, error]) => {
    const { fetch } = createRecorder(() => Response.json(answer));
    const provider = openaiChat({ client: connect(fetch), model: "m" });
    const result = await runToolLoop({ provider, messages: [user("Look.")], modelSettings: { extra } });
    expect(result.error).toMatchObject(error);
  });

  const limited = { code: "rate-limit", retryable: true, message: expect.stringMatching(/limited upstream/) };
  it.for<[what: string, answer: object, error: object]>([
    ["nested", { error: { message: "Provider returned error", code: 429, metadata: { raw: "limited upstream" } } }, limited],
    ["with a type", { type: "error", error: { type: "rate_limit_error", message: "limited upstream" } }, limited],
    ["flat", { status: 429, message: "limited upstream" }, limited],
    ["with a string as its status", { status: "error", code: 429, message: "limited upstream" }, limited],
    ["with detail", { detail: "limited upstream" }, { message: "limited upstream" }],
  ])("makes a run fail with either OpenAI adapter after an error with status 200 (%s)", async ([, answer, error]) => {
    const { fetch } = createRecorder(() => Response.json(answer));
    const options = { client: connect(fetch), model: "m" };
    for (const provider of [openaiChat(options), openaiResponses(options)]) {
      const result = await runToolLoop({ provider, messages: [user("Look.")], modelSettings: { extra } });
      expect(result).toMatchObject({ status: "error", error });
    }
  });

  it.for<[status: string, output: readonly object[], expected: object]>([
    ["incomplete", [outputText("Se")], { text: "Se" }],
    ["failed", [], { status: "error" }],
  ])("makes openaiResponses read a whole response with the status %s", async ([status, output, expected]) => {
    const { fetch } = createRecorder(() => Response.json({ ...wholeResponse(...output), status, error: { message: "No." } }));
    const provider = openaiResponses({ client: connect(fetch), model: "m" });
    const result = await runToolLoop({ provider, messages: [user("Look.")], modelSettings: { extra } });
    expect(result).toMatchObject(expected);
    expect(result.reason.kind).not.toBe("completed");
  });

  it("disables the silence limits while openaiChat waits for a whole answer", async () => {
    const clock = createTestClock();
    const answers: ((response: Response) => void)[] = [];
    const fetch: typeof globalThis.fetch = () => new Promise((resolve) => answers.push(resolve));
    const provider = openaiChat({ client: connect(fetch), model: "m" });
    const run = runToolLoop({ provider, clock, messages: [user("Look.")], modelSettings: { extra } });
    await clock.advance(1_700_000);
    for (const answer of answers) answer(Response.json(choice({ content: "Seen." }, "stop")));
    expect((await run).text).toBe("Seen.");
  });
});

describe("the error from a service that refuses to stream", () => {
  const refusals = [
    "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings",
    "The model is unsupported for streaming.",
  ];

  it.for(refusals.flatMap((message) => [["openaiChat", message] as const, ["openaiResponses", message] as const]))(
    "says, with %s, how to request whole answers: %s",
    async ([wire, message]) => {
      const { fetch } = createRecorder(() => refuse(400, { error: { message, type: "invalid_request_error", param: "stream" } }));
      const options = { client: connect(fetch), model: "m" };
      const provider = wire === "openaiChat" ? openaiChat(options) : openaiResponses(options);
      const result: LoopResult = await runToolLoop({ provider, messages: [user("Look.")] });
      expect(result.error?.code).toBe("bad-request");
      expect(result.error?.message).toContain(message);
      expect(result.error?.message).toContain("set `stream: false` in `extra` of the model settings");
    },
  );

  it("is the only error that says how to request whole answers", async () => {
    const { fetch } = createRecorder((body) =>
      body["stream"] === true ? refuse(400, { error: { message: "No such field." } }) : chatText(),
    );
    const result = await runToolLoop({ provider: openaiChat({ client: connect(fetch), model: "m" }), messages: [user("Hi")] });
    expect(result.error?.message).toBe("No such field.");
  });
});
