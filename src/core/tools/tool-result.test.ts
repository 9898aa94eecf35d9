import { describe, expect, it } from "vitest";
import type { ToolResult } from "../types/tool.ts";
import { isToolResult } from "../../shared/to-outcome.ts";
import { toolResult, type ToolResultFields } from "./tool-result.ts";

describe("toolResult", () => {
  it("keeps every field", () => {
    const fields: ToolResult = {
      success: true,
      data: { n: 1 },
      error: "e",
      message: "m",
      endTurn: true,
      content: [{ type: "text", text: "t" }],
      metadata: new Map(),
    };
    expect({ ...toolResult(fields) }).toMatchObject(fields);
  });

  it.for<[fields: ToolResultFields, success: boolean]>([
    [{}, true],
    [{ data: 1 }, true],
    [{ error: "no" }, false],
    [{ error: "no", success: true }, true],
    [{ success: false }, false],
    [{ success: undefined, error: undefined }, true],
  ])("given the fields %o, sets success to %s", ([fields, success]) => {
    expect(toolResult(fields).success).toBe(success);
  });

  it("converts content to plain data", () => {
    const { content } = toolResult({
      content: [
        { type: "text", text: "a" },
        { type: "image", mediaType: "image/png", data: new URL("https://example.org/a.png") },
        { type: "file", mediaType: "application/pdf", data: "JVBERi0=" },
      ],
    });
    expect(content).toEqual([
      { type: "text", text: "a" },
      { type: "image", mediaType: "image/png", data: "https://example.org/a.png" },
      { type: "file", mediaType: "application/pdf", data: "JVBERi0=" },
    ]);
  });

  it.for<[fields: unknown, message: string]>([
    [undefined, 'Option "toolResult" is undefined, but must be an object.'],
    [{ succes: false }, 'There is no option "toolResult.succes". Did you mean "toolResult.success"?'],
    [{ metaData: 1 }, 'There is no option "toolResult.metaData". Did you mean "toolResult.metadata"?'],
    [{ constructor: 1 }, 'There is no option "toolResult.constructor".'],
    [{ success: "yes" }, 'Option "toolResult.success" is "yes", but must be a boolean.'],
    [{ error: new Error("x") }, 'Option "toolResult.error" is an object, but must be a string.'],
    [{ content: "text" }, 'Option "toolResult.content" is "text", but must be an array.'],
    [{ content: ["text"] }, 'Option "toolResult.content[0]" is "text", but must be a content part.'],
    [
      { content: [{ type: "text", text: "a" }, { type: "text" }] },
      'Option "toolResult.content[1].text" is undefined, but must be a string.',
    ],
    [{ content: [{ type: "audio" }] }, 'Option "toolResult.content[0].type" is "audio", but must be "text", "image" or "file".'],
    [{ content: [{ type: "image", data: "" }] }, 'Option "toolResult.content[0].mediaType" is undefined, but must be a string.'],
    [
      { content: [{ type: "image", mediaType: "image/png", data: new Uint8Array(2) }] },
      'Option "toolResult.content[0].data" is an object, but must be a base64 string or a URL (Bytes must be base64 text; write: { type: "image", mediaType: "image/png", data: Buffer.from(bytes).toString("base64") }).',
    ],
  ])("rejects the argument %j", ([fields, message]) => {
    expect(() => toolResult(fields as ToolResultFields)).toThrow(message);
  });
});

describe("isToolResult", () => {
  it("recognizes results from any copy of the package, and copied results", () => {
    expect(isToolResult(toolResult({}))).toBe(true);
    expect(isToolResult({ ...toolResult({}), endTurn: true })).toBe(true);
    expect(isToolResult({ success: true, [Symbol.for("turnwright.ToolResult")]: true })).toBe(true);
  });

  it.for<[what: string, value: unknown]>([
    ["an object with the fields of a result", { success: true, data: 1 }],
    ["a result after a JSON round trip", JSON.parse(JSON.stringify(toolResult({ data: 1 })))],
    ["null", null],
    ["a string", "x"],
  ])("returns false for %s", ([, value]) => {
    expect(isToolResult(value)).toBe(false);
  });
});
