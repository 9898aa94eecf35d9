import { describe, expect, it } from "vitest";
import { chunk, piece, says, stop, text } from "./google-frames.ts";
import { answer, call, inputSchema, oslo, play, question } from "./google-run.ts";
import type { RawReply } from "./raw-sse-server.ts";

describe("runToolLoop with googleGenerateContent", () => {
  it('requests the rest of an answer after the finish reason "CONTINUATION" and joins both parts', async () => {
    const cut: RawReply = {
      frames: [
        chunk({ candidates: [{ content: { parts: [{ text: "It is " }] }, continuationToken: "checkpoint" }] }),
        stop("CONTINUATION", { continuationToken: "dG9rZW4=" }),
      ],
    };
    const rest: RawReply = { frames: [text("mild."), says({ text: "", thoughtSignature: "sig" }), stop()] };
    const { result, bodies, again } = await play([cut, rest, answer]);
    expect(result).toMatchObject({ status: "completed", text: "It is mild.", iterations: 1, usage: { outputTokens: 4 } });
    expect(bodies.map(({ continuationToken }) => continuationToken)).toEqual([undefined, "dG9rZW4="]);
    expect({ ...bodies[1], continuationToken: undefined }).toEqual({ ...bodies[0], continuationToken: undefined });
    await again({ messages: [...result.messages, { role: "user", content: "Thanks." }] });
    expect(bodies[2]?.contents[1]?.parts).toEqual([{ text: "It is " }, { text: "mild." }, { text: "", thoughtSignature: "sig" }]);
  });

  it('ends with the reason "max-pauses" after limits.maxPauses continuations', async () => {
    const cut: RawReply = { frames: [text("a"), stop("CONTINUATION", { continuationToken: "t" })] };
    const { result, bodies } = await play([cut, cut, cut], { limits: { maxPauses: 1 } });
    expect([result.reason.kind, result.text, bodies.length]).toEqual(["max-pauses", "aa", 2]);
  });

  it("sends a call with streamed arguments back as a complete call", async () => {
    const frames = [
      piece({ name: "get_weather", willContinue: true }, { thoughtSignature: "sig" }),
      piece({ partialArgs: [{ jsonPath: "$.city", stringValue: "Os", willContinue: true }], willContinue: true }),
      piece({ partialArgs: [{ jsonPath: "$.city", stringValue: "lo" }], willContinue: true }),
      piece({}),
      says(call()),
      stop(),
    ];
    const { result, bodies } = await play([{ frames }, answer], {}, { vertexai: true, streamArguments: true });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.args)).toEqual([oslo, oslo]);
    expect(bodies[1]?.contents[1]?.parts).toEqual([{ ...call(), thoughtSignature: "sig" }, call()]);
    expect(bodies[0]?.toolConfig).toEqual({ functionCallingConfig: { streamFunctionCallArguments: true } });
  });

  it.for<[what: string, frames: readonly string[]]>([
    ["writes no text", [stop("MALFORMED_FUNCTION_CALL", { finishMessage: "Malformed function call: f(" })]],
    ["also writes text", [text("One moment."), stop("MALFORMED_FUNCTION_CALL")]],
    ['ends with the finish reason "UNEXPECTED_TOOL_CALL"', [stop("UNEXPECTED_TOOL_CALL")]],
  ])("sends another request after a malformed call if the model %s", async ([, frames]) => {
    const { result, bodies } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", iterations: 2 });
    expect(JSON.stringify(bodies[1]?.contents.at(-1)?.parts.at(-1))).toContain("Your last tool call was malformed");
  });

  it.for<[what: string, frames: readonly string[], said: string]>([
    ["a blocked prompt", [chunk({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } })], ""],
    ["a filtered answer", [text("Sure"), says({ ...call("a"), thoughtSignature: "sig" }), stop("PROHIBITED_CONTENT")], "Sure"],
  ])('ends with the reason "content-filter" after %s, without running a tool', async ([, frames, said]) => {
    const { result, bodies, again } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", reason: { kind: "content-filter" }, text: said, toolCallsExecuted: 0 });
    expect(result.usage.inputTokens).toBe(3);
    await again({ messages: [...result.messages, { role: "user", content: "Then what?" }] });
    expect(JSON.stringify(bodies[1])).not.toContain('"sig"');
  });

  it("sends the options and model settings in the request", async () => {
    const { bodies } = await play(
      [answer],
      {
        system: "Be brief.",
        toolChoice: { name: "look" },
        modelSettings: {
          maxOutputTokens: 100,
          temperature: 0,
          topP: 0.5,
          stopSequences: ["END"],
          seed: 1,
          extra: { topK: 3, safetySettings: [{ category: "C", threshold: "OFF" }], automaticContinuation: true },
        },
      },
      { thinking: { includeThoughts: true, thinkingLevel: "LOW" }, serverTools: [{ googleSearch: {} }] },
    );
    const { contents, ...rest } = bodies[0] ?? { contents: [] };
    expect(contents).toEqual([question]);
    expect(rest).toEqual({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      tools: [
        {
          functionDeclarations: [
            { name: "get_weather", description: "Weather of a city", parametersJsonSchema: inputSchema },
            { name: "look", description: "Shows something", parametersJsonSchema: inputSchema },
          ],
        },
        { googleSearch: {} },
      ],
      toolConfig: {
        functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look"] },
        includeServerSideToolInvocations: true,
      },
      safetySettings: [{ category: "C", threshold: "OFF" }],
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 0,
        topP: 0.5,
        topK: 3,
        stopSequences: ["END"],
        seed: 1,
        thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" },
      },
    });
  });
});
