// Whole runs over a real connection and through the real SDK: what goes back to the service, part by part, and that every request
// that leaves may be sent.

import { defineTool, runToolLoop, toolResult, type LoopOptions, type LoopResult } from "turnwright";
import { googleGenerateContent, type GoogleGenerateContentOptions } from "turnwright/google";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkGenerateContract } from "./generate-contract.ts";
import { connectGoogle } from "./google-client.ts";
import { callPart, chunk, counts, piece, says, stop, text } from "./google-frames.ts";
import { startRawServer, type RawReply } from "./raw-sse-server.ts";

interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly { readonly [field: string]: unknown }[] }[];
  readonly [field: string]: unknown;
}

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly Body[];
  /** The provider, for a run that goes on. */
  readonly again: (options: Partial<LoopOptions>) => Promise<LoopResult>;
}

const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
const inputSchema = { type: "object", properties: { city: { type: "string" } } };
const weather = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema,
  execute: () => ({ celsius: 3 }),
});
const look = defineTool({
  name: "look",
  description: "Shows something",
  inputSchema,
  execute: () =>
    toolResult({
      success: true,
      data: "seen",
      content: [{ type: "text", text: "A map." }, image, { type: "file", mediaType: "audio/wav", data: "UklGRg==" }],
    }),
});

/** Runs the loop against a server that gives the replies, and checks every request that left. */
async function play(
  replies: readonly RawReply[],
  more: Partial<LoopOptions> = {},
  { vertexai = false, ...settings }: Partial<GoogleGenerateContentOptions> & { readonly vertexai?: boolean } = {},
): Promise<Played> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const { client, bodies } = connectGoogle(server.url, { vertexai });
  const provider = googleGenerateContent({ client, model: "gemini-3-pro-preview", ...settings });
  const again = async (options: Partial<LoopOptions>): Promise<LoopResult> => {
    const result = await runToolLoop({
      provider,
      tools: [weather, look],
      messages: [{ role: "user", content: "Oslo?" }],
      ...options,
    });
    const signed = !/gemini-2/.test(provider.model);
    expect(bodies.map((body) => checkGenerateContract(body, { signed }))).toEqual(bodies.map(() => []));
    return result;
  };
  const result = await again(more);
  return {
    result,
    again,
    get bodies() {
      return bodies as readonly Body[];
    },
  };
}

const answer: RawReply = { frames: [text("Mild."), stop()] };
const oslo = { city: "Oslo" };
const question = { role: "user", parts: [{ text: "Oslo?" }] };
const call = (id = ""): object => callPart(id, "get_weather", oslo);
const output = (id = ""): object => ({
  functionResponse: { ...(id === "" ? {} : { id }), name: "get_weather", response: { output: { celsius: 3 } } },
});
const placeholder = "skip_thought_signature_validator";

describe("a run over googleGenerateContent", () => {
  it("sends every part back as it came, each signature on its own", async () => {
    const search = {
      toolCall: { id: "s", toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["Oslo"] } },
      thoughtSignature: "sig-0",
    };
    const found = { toolResponse: { id: "s", toolType: "GOOGLE_SEARCH_WEB", response: { links: [null] } } };
    const frames = [
      says({ text: "H", thought: true }, { text: "m.", thought: true }),
      says(search, found),
      text("One "),
      text("mo"),
      says({ text: "ment", thoughtSignature: "sig-1" }),
      text("."),
      says({ ...call("a"), thoughtSignature: "sig-2" }, call("b")),
      says(call("c")),
      says({ executableCode: { language: "PYTHON", code: "1" } }),
      says({ text: "" }),
      says({ text: "", thoughtSignature: "sig-3" }),
      stop(),
    ];
    const { result, bodies } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", toolCallsExecuted: 3 });
    expect(result.streamResults[0]).toMatchObject({ text: "One moment.", reasoning: "Hm." });
    expect(bodies[1]?.contents).toEqual([
      question,
      {
        role: "model",
        parts: [
          { text: "Hm.", thought: true },
          search,
          found,
          { text: "One mo" },
          { text: "ment", thoughtSignature: "sig-1" },
          { text: "." },
          { ...call("a"), thoughtSignature: "sig-2" },
          call("b"),
          call("c"),
          { executableCode: { language: "PYTHON", code: "1" } },
          { text: "", thoughtSignature: "sig-3" },
        ],
      },
      { role: "user", parts: [output("a"), output("b"), output("c")] },
    ]);
  });

  it("answers calls without ids in their order, and gives them none", async () => {
    const frames = [says({ ...call(), thoughtSignature: "sig" }, callPart("", "look", {}), call()), stop()];
    const { result, bodies } = await play([{ frames }, answer], {}, { generation: 2 });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.id)).toEqual(["call_p0_0", "call_p0_1", "call_p0_2"]);
    const [, turn, results] = bodies[1]?.contents ?? [];
    expect(turn?.parts).toEqual([{ ...call(), thoughtSignature: "sig" }, callPart("", "look", {}), call()]);
    expect(results?.parts.slice(0, 3).map(({ functionResponse }) => Object(functionResponse).name)).toEqual([
      "get_weather",
      "look",
      "get_weather",
    ]);
  });

  it("answers a call under the id that came, also where the transcript holds that id already", async () => {
    const turn: RawReply = { frames: [says({ ...call("a/1"), thoughtSignature: "sig" }), stop()] };
    const { bodies } = await play([turn, turn, answer]);
    expect(bodies[2]?.contents.slice(1)).toEqual([
      { role: "model", parts: [{ ...call("a/1"), thoughtSignature: "sig" }] },
      { role: "user", parts: [output("a/1")] },
      { role: "model", parts: [{ ...call("a/1"), thoughtSignature: "sig" }] },
      { role: "user", parts: [output("a/1")] },
    ]);
  });

  it("answers two calls of one turn under one id without it", async () => {
    const turn: RawReply = { frames: [says({ ...call("a"), thoughtSignature: "sig" }, call("a")), stop()] };
    const { bodies } = await play([turn, answer]);
    expect(bodies[1]?.contents.slice(1)).toEqual([
      { role: "model", parts: [{ ...call(), thoughtSignature: placeholder }, call()] },
      { role: "user", parts: [output(), output()] },
    ]);
  });

  it.for<[model: string, first: object]>([
    ["gemini-3-flash-preview", { ...call(), thoughtSignature: placeholder }],
    ["gemini-flash-latest", { ...call(), thoughtSignature: placeholder }],
    ["gemini-2.5-flash", call()],
  ])("sends only text and calls to another model: %s", async ([model, first]) => {
    const frames = [
      says({ text: "Hm.", thought: true }, { text: "One moment." }),
      says({ ...call("a"), thoughtSignature: "sig" }, call("b")),
    ];
    const { result } = await play([{ frames: [...frames, stop()] }, answer]);
    const { bodies } = await play([answer], { messages: [...result.messages, { role: "user", content: "Rome?" }] }, { model });
    expect(bodies[0]?.contents).toEqual([
      question,
      { role: "model", parts: [{ text: "One moment." }, first, call()] },
      { role: "user", parts: [output(), output()] },
      { role: "model", parts: [{ text: "Mild." }] },
      { role: "user", parts: [{ text: "Rome?" }] },
    ]);
  });

  it("signs a step that its own model left unsigned", async () => {
    const { bodies } = await play([{ frames: [says(call("a")), stop()] }, answer]);
    expect(bodies[1]?.contents[1]?.parts).toEqual([{ ...call("a"), thoughtSignature: placeholder }]);
  });

  it("does not send signatures to another route", async () => {
    const frames = [says({ ...call("a"), thoughtSignature: "sig" }), stop()];
    const { result } = await play([{ frames }, answer]);
    const { bodies } = await play([answer], { messages: result.messages }, { vertexai: true });
    expect(bodies[0]?.contents[1]?.parts).toEqual([{ ...call(), thoughtSignature: placeholder }]);
  });

  it("goes on with an answer that reached the limit of a request, and joins its hops", async () => {
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

  it("stops to go on at the limit of resends", async () => {
    const cut: RawReply = { frames: [text("a"), stop("CONTINUATION", { continuationToken: "t" })] };
    const { result, bodies } = await play([cut, cut, cut], { limits: { maxPauses: 1 } });
    expect([result.reason.kind, result.text, bodies.length]).toEqual(["max-pauses", "aa", 2]);
  });

  it("puts calls together whose arguments are streamed, and sends them back whole", async () => {
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
    ["says nothing of it", [stop("MALFORMED_FUNCTION_CALL", { finishMessage: "Malformed function call: f(" })]],
    ["has said something before", [text("One moment."), stop("MALFORMED_FUNCTION_CALL")]],
    ["was offered no tool", [stop("UNEXPECTED_TOOL_CALL")]],
  ])("asks again after a malformed call where the model %s", async ([, frames]) => {
    const { result, bodies } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", iterations: 2 });
    expect(JSON.stringify(bodies[1]?.contents.at(-1)?.parts.at(-1))).toContain("Your last tool call was malformed");
  });

  it.for<[what: string, frames: readonly string[], said: string]>([
    ["a blocked prompt", [chunk({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } })], ""],
    ["a filtered answer", [text("Sure"), says({ ...call("a"), thoughtSignature: "sig" }), stop("PROHIBITED_CONTENT")], "Sure"],
  ])("ends with %s, runs nothing and goes on afterwards", async ([, frames, said]) => {
    const { result, bodies, again } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", reason: { kind: "content-filter" }, text: said, toolCallsExecuted: 0 });
    expect(result.usage.inputTokens).toBe(3);
    await again({ messages: [...result.messages, { role: "user", content: "Then what?" }] });
    expect(JSON.stringify(bodies[1])).not.toContain('"sig"');
  });

  it.for<[model: string, parts: readonly object[]]>([
    [
      "gemini-3-pro-preview",
      [
        {
          functionResponse: {
            name: "look",
            response: { output: "seen", text: "A map." },
            parts: [{ inlineData: { mimeType: "image/png", data: image.data } }],
          },
        },
        output(),
        { text: "Content that the tool look returned:" },
        { inlineData: { mimeType: "audio/wav", data: "UklGRg==" } },
      ],
    ],
    [
      "gemini-2.5-pro",
      [
        { functionResponse: { name: "look", response: { output: "seen", text: "A map." } } },
        output(),
        { text: "Content that the tool look returned:" },
        { inlineData: { mimeType: "image/png", data: image.data } },
        { inlineData: { mimeType: "audio/wav", data: "UklGRg==" } },
      ],
    ],
  ])("hands over what a tool returned as %s takes it", async ([model, parts]) => {
    const frames = [says({ ...callPart("", "look", {}), thoughtSignature: "sig" }, call()), stop()];
    const { bodies } = await play([{ frames }, answer], {}, { model });
    expect(bodies[1]?.contents[2]).toEqual({ role: "user", parts });
  });

  it("says which answers are errors", async () => {
    const frames = [says({ ...callPart("a", "get_wether", oslo), thoughtSignature: "sig" }), stop()];
    const { bodies } = await play([{ frames }, answer]);
    expect(bodies[1]?.contents[2]?.parts).toEqual([
      {
        functionResponse: {
          id: "a",
          name: "get_wether",
          response: { error: expect.objectContaining({ status: "unknown_tool" }) },
        },
      },
    ]);
  });

  it("asks for what the options and the settings say", async () => {
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

  it("keeps every byte of what went before", async () => {
    const turn = (pass: number): RawReply => ({
      frames: [
        says({ ...call(`${pass}-a`), thoughtSignature: `sig-${pass}` }, call(`${pass}-b`)),
        stop("STOP", {}, counts(3, 2, 1)),
      ],
    });
    const { bodies } = await play([turn(0), turn(1), turn(2), answer], { system: "Be brief." });
    for (const [pass, { contents, ...rest }] of bodies.entries()) {
      const next = bodies[pass + 1];
      if (next === undefined) continue;
      expect(JSON.stringify(next.contents.slice(0, contents.length))).toBe(JSON.stringify(contents));
      expect({ ...next, contents: undefined }).toEqual({ ...rest, contents: undefined });
    }
  });
});
