import { describe, expect, it } from "vitest";
import { callPart, counts, says, stop, text } from "./google-frames.ts";
import { answer, call, image, oslo, output, placeholder, play, question } from "./google-run.ts";
import type { RawReply } from "./raw-sse-server.ts";

describe("googleGenerateContent: the history in the next request", () => {
  it("contains every part unchanged with the original signature", async () => {
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

  it("contains results in the order of the calls if the calls have no ids", async () => {
    const frames = [says({ ...call(), thoughtSignature: "sig" }, callPart("", "look", {}), call()), stop()];
    const { result, bodies } = await play([{ frames }, answer], {}, { generation: 2 });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.id)).toEqual(["call_i0_0", "call_i0_1", "call_i0_2"]);
    const [, turn, results] = bodies[1]?.contents ?? [];
    expect(turn?.parts).toEqual([{ ...call(), thoughtSignature: "sig" }, callPart("", "look", {}), call()]);
    expect(results?.parts.slice(0, 3).map(({ functionResponse }) => Object(functionResponse).name)).toEqual([
      "get_weather",
      "look",
      "get_weather",
    ]);
  });

  it("contains each result under the original call id, even if two iterations use the same id", async () => {
    const turn: RawReply = { frames: [says({ ...call("a/1"), thoughtSignature: "sig" }), stop()] };
    const { bodies } = await play([turn, turn, answer]);
    expect(bodies[2]?.contents.slice(1)).toEqual([
      { role: "model", parts: [{ ...call("a/1"), thoughtSignature: "sig" }] },
      { role: "user", parts: [output("a/1")] },
      { role: "model", parts: [{ ...call("a/1"), thoughtSignature: "sig" }] },
      { role: "user", parts: [output("a/1")] },
    ]);
  });

  it("does not contain ids if two calls in one message share an id", async () => {
    const other = { name: "get_weather", args: { city: "Rome" } };
    const calls = says({ ...call("a"), thoughtSignature: "sig" }, { functionCall: { id: "a", ...other } });
    const { bodies } = await play([{ frames: [calls, stop()] }, answer]);
    expect(bodies[1]?.contents.slice(1)).toEqual([
      { role: "model", parts: [{ ...call(), thoughtSignature: placeholder }, { functionCall: other }] },
      { role: "user", parts: [output(), output()] },
    ]);
  });

  it.for<[model: string, first: object]>([
    ["gemini-3-flash-preview", { ...call(), thoughtSignature: placeholder }],
    ["gemini-flash-latest", { ...call(), thoughtSignature: placeholder }],
    ["gemini-2.5-flash", call()],
  ])("contains only text and calls after a switch to the model %s", async ([model, first]) => {
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

  it("contains a placeholder signature for a call without a signature", async () => {
    const { bodies } = await play([{ frames: [says(call("a")), stop()] }, answer]);
    expect(bodies[1]?.contents[1]?.parts).toEqual([{ ...call("a"), thoughtSignature: placeholder }]);
  });

  it("contains a placeholder for each Gemini API signature after a switch to Vertex AI", async () => {
    const frames = [says({ ...call("a"), thoughtSignature: "sig" }), stop()];
    const { result } = await play([{ frames }, answer]);
    const { bodies } = await play([answer], { messages: result.messages }, { vertexai: true });
    expect(bodies[0]?.contents[1]?.parts).toEqual([{ ...call(), thoughtSignature: placeholder }]);
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
  ])("contains the media of a tool result in the format of the model %s", async ([model, parts]) => {
    const frames = [says({ ...callPart("", "look", {}), thoughtSignature: "sig" }, call()), stop()];
    const { bodies } = await play([{ frames }, answer], {}, { model });
    expect(bodies[1]?.contents[2]).toEqual({ role: "user", parts });
  });

  it("contains a failed tool result as an error", async () => {
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

  it("repeats the contents of each earlier request byte for byte", async () => {
    const turn = (iteration: number): RawReply => ({
      frames: [
        says({ ...call(`${iteration}-a`), thoughtSignature: `sig-${iteration}` }, call(`${iteration}-b`)),
        stop("STOP", {}, counts(3, 2, 1)),
      ],
    });
    const { bodies } = await play([turn(0), turn(1), turn(2), answer], { system: "Be brief." });
    for (const [iteration, { contents, ...rest }] of bodies.entries()) {
      const next = bodies[iteration + 1];
      if (next === undefined) continue;
      expect(JSON.stringify(next.contents.slice(0, contents.length))).toBe(JSON.stringify(contents));
      expect({ ...next, contents: undefined }).toEqual({ ...rest, contents: undefined });
    }
  });
});
