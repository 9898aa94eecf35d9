import { describe, expect, it } from "vitest";
import type { AssistantMessage, Json, Message, ToolResultPart } from "../core/index.ts";
import type { AssistantPart } from "../core/kit.ts";
import { createInputConverter, type InputSettings } from "./responses-body.ts";

const settings: InputSettings = {
  id: "openai",
  model: "m",
  store: false,
  customTools: new Map([["sql", { type: "text" }]]),
  toolResultMedia: "tool-message",
};
const convert = (messages: readonly Message[], changes: Partial<InputSettings> = {}): readonly unknown[] =>
  createInputConverter({ ...settings, ...changes })(messages);

const turn = (...content: readonly AssistantPart[]): AssistantMessage => ({ role: "assistant", content });
const asks = (callId: string, args: Json = {}, name = "f"): AssistantPart => ({ type: "tool-call", callId, name, args });
const result = (callId: string, rest: Partial<ToolResultPart> = {}): ToolResultPart => ({
  callId,
  name: "f",
  outcome: "completed",
  result: "ok",
  ...rest,
});
const results = (...all: readonly ToolResultPart[]): Message => ({ role: "tool", results: all });
const call = (id: string, args = "{}", name = "f"): object => ({ type: "function_call", call_id: id, name, arguments: args });
const output = (id: string, value: unknown = "ok"): object => ({ type: "function_call_output", call_id: id, output: value });
const image = { type: "image", mediaType: "image/png", data: "eA==" } as const;
const zip = { type: "file", mediaType: "application/zip", data: "UEs=" } as const;
const wireImage = { type: "input_image", image_url: "data:image/png;base64,eA==", detail: "auto" };

describe("openaiResponses: the input of a request", () => {
  it.for<[what: string, messages: readonly Message[], wire: readonly object[]]>([
    ["a user message with text", [{ role: "user", content: "hi" }], [{ role: "user", content: "hi" }]],
    [
      "a user message with one text part",
      [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      [{ role: "user", content: "hi" }],
    ],
    ["an empty user message", [{ role: "user", content: [] }], [{ role: "user", content: "" }]],
    [
      "a user message with images and files",
      [
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            image,
            { type: "image", mediaType: "image/png", data: new URL("https://x.test/a.png") },
            { type: "file", mediaType: "application/pdf", data: "JVBERi0=" },
            { type: "file", mediaType: "application/pdf", data: "data:application/pdf;base64,JVBERi0=" },
            { type: "file", mediaType: "application/pdf", data: "https://x.test/a.pdf" },
          ],
        },
      ],
      [
        {
          role: "user",
          content: [
            { type: "input_text", text: "see" },
            wireImage,
            { type: "input_image", image_url: "https://x.test/a.png", detail: "auto" },
            { type: "input_file", filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            { type: "input_file", filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            { type: "input_file", file_url: "https://x.test/a.pdf" },
          ],
        },
      ],
    ],
    [
      "an assistant message with text",
      [turn({ type: "text", text: "Hel" }, { type: "text", text: "lo" })],
      [{ role: "assistant", content: "Hello" }],
    ],
    [
      "a call to a function tool that has an argument named input",
      [turn(asks("a", { input: "x" }))],
      [call("a", '{"input":"x"}')],
    ],
    [
      "an assistant message with reasoning and text",
      [turn({ type: "reasoning", text: "Hm" }, { type: "text", text: "Hello" })],
      [{ role: "assistant", content: "Hello" }],
    ],
    [
      "an assistant message with text and calls",
      [turn({ type: "text", text: "Hm." }, asks("a"), asks("b", { n: 1 }))],
      [{ role: "assistant", content: "Hm." }, call("a"), call("b", '{"n":1}')],
    ],
    ["no item for an empty assistant message", [turn()], []],
    ["no item for a blank assistant message", [turn({ type: "text", text: " \n" }, { type: "reasoning", text: "Hm" })], []],
    ["a call with invalid characters in the tool name", [turn(asks("a", {}, "get weather!"))], [call("a", "{}", "get_weather_")]],
    ["a call with arguments that are not an object", [turn(asks("a", [1]))], [call("a", '{"INVALID_ARGUMENTS":[1]}')]],
    ["a call with an argument named __proto__", [turn(asks("a", JSON.parse('{"__proto__":1}')))], [call("a", '{"__proto__":1}')]],
    [
      "tool results",
      [turn(asks("a"), asks("b")), results(result("a"), result("b", { result: { n: 1 } }))],
      [call("a"), call("b"), output("a"), output("b", '{"n":1}')],
    ],
    [
      "a tool result with text parts",
      [
        turn(asks("a")),
        results(
          result("a", {
            content: [
              { type: "text", text: "more" },
              { type: "text", text: "" },
            ],
          }),
        ),
      ],
      [call("a"), output("a", "ok\nmore")],
    ],
    [
      "a tool result with an image",
      [turn(asks("a")), results(result("a", { content: [image] }))],
      [call("a"), output("a", [{ type: "input_text", text: "ok" }, wireImage])],
    ],
    [
      "a note for the model if a tool result has an unsupported file",
      [turn(asks("a")), results(result("a", { content: [zip, image] }))],
      [
        call("a"),
        output("a", [
          { type: "input_text", text: expect.stringMatching(/^ok\n\[The tool returned a file of type application\/zip, .+\]$/) },
          wireImage,
        ]),
      ],
    ],
    [
      "an empty tool result with an image",
      [turn(asks("a")), results(result("a", { result: "", content: [image] }))],
      [call("a"), output("a", [wireImage])],
    ],
    ["an empty tool result", [turn(asks("a")), results(result("a", { result: "" }))], [call("a"), output("a", "")]],
    [
      "shortened ids if call ids are too long",
      [turn(asks("x".repeat(99))), results(result("x".repeat(99)))],
      [call(expect.stringMatching(/^x{49}_[\da-f]{14}$/)), output(expect.stringMatching(/^x{49}_[\da-f]{14}$/))],
    ],
    [
      "a call to a custom tool and its result",
      [turn(asks("a", { input: "SELECT 1" }, "sql")), results(result("a", { name: "sql", content: [image] }))],
      [
        { type: "custom_tool_call", call_id: "a", name: "sql", input: "SELECT 1" },
        { type: "custom_tool_call_output", call_id: "a", output: [{ type: "input_text", text: "ok" }, wireImage] },
      ],
    ],
    [
      "a function call to a custom tool and its result",
      [turn(asks("a", { query: 1 }, "sql")), results(result("a"))],
      [call("a", '{"query":1}', "sql"), output("a")],
    ],
    ["tool results without their assistant message", [results(result("a"))], [output("a")]],
  ])("contains %s", ([, messages, wire]) => {
    expect(convert(messages)).toEqual(wire);
  });

  it('with toolResultMedia: "user-message", contains the images of tool results in a user message', () => {
    const messages = [turn(asks("a"), asks("b")), results(result("a", { content: [image] }), result("b"))];
    expect(convert(messages, { toolResultMedia: "user-message" })).toEqual([
      call("a"),
      call("b"),
      output("a"),
      output("b"),
      { role: "user", content: [{ type: "input_text", text: "Content that the tool f returned for call a:" }, wireImage] },
    ]);
  });

  it("contains each result with the item type and the caller of its call", () => {
    const caller = { type: "program", caller_id: "p" };
    const items = [
      { type: "custom_tool_call", call_id: "a", name: "f", input: "x" },
      { type: "function_call", call_id: "b", name: "sql", arguments: "{}", caller },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}", caller: null },
    ];
    const providerMetadata = items.map((item) => ({ provider: "openai", model: "m", item: { output_item: item } }));
    const made = { ...turn(asks("a"), asks("b", {}, "sql"), asks("c")), providerMetadata };
    expect(convert([made, results(result("a"), result("b"), result("c"))])).toEqual([
      ...items,
      { type: "custom_tool_call_output", call_id: "a", output: "ok" },
      { ...output("b"), caller },
      output("c"),
    ]);
  });

  it("reuses converted messages, but converts results again if the assistant message before them is different", () => {
    const toInput = createInputConverter(settings);
    const [question, asked, answered]: readonly Message[] = [
      { role: "user", content: "hi" },
      turn(asks("a", { input: "x" }, "sql")),
      results(result("a")),
    ];
    if (question === undefined || asked === undefined || answered === undefined) throw new Error("There are three messages.");
    const [first, second] = [toInput([question, asked, answered]), toInput([question, asked, answered])];
    expect(second).not.toBe(first);
    for (const [position, item] of first.entries()) expect(second[position]).toBe(item);
    expect(first[2]).toMatchObject({ type: "custom_tool_call_output" });
    expect(toInput([turn(asks("a")), answered])[1]).toMatchObject({ type: "function_call_output" });
  });
});
