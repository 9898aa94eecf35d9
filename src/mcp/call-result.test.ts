import { describe, expect, it } from "vitest";
import { listOf } from "../core/kit.ts";
import type { ToolResult } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { toToolResult } from "./call-tool.ts";
import { readAnswer } from "./read-server.ts";

const said = (text: string): UnknownRecord => ({ type: "text", text });
const image = { type: "image", data: "aW1n", mimeType: "image/png" };
const shown = { type: "image", mediaType: "image/png", data: "aW1n" };
const cold = { celsius: 7, places: ["Oslo"] };

type Row = [what: string, result: UnknownRecord, data: unknown, content: readonly unknown[]];

/**
 * URLs and other data that are not base64. The model's provider would fetch some of them, so they must not reach the model.
 */
const unreadable = [
  "https://evil.example/beacon?c=42",
  "http://169.254.169.254/latest",
  "gs://bucket/x",
  "file:///etc/passwd",
  "//evil.example/x",
  "data:image/svg+xml,<svg/>",
  "not base64!",
  "",
];

const wrapped: readonly (readonly [what: string, result: unknown, texts: readonly string[]])[] = [
  ["a text", "Hi.", ["Hi."]],
  ["an empty text", "", [""]],
  ["a number", 5, ["5"]],
  ["null", null, ["null"]],
  ["a list of texts", ["a", "b"], ["a", "b"]],
  ["a list of objects", [cold, cold], [JSON.stringify(cold), JSON.stringify(cold, null, 2)]],
  ["a list as one text", [1, 2], ["[1, 2]"]],
];

function read(result: UnknownRecord): Pick<ToolResult, "success" | "data" | "content" | "message" | "metadata"> {
  const { success, data, content, message, metadata } = toToolResult(readAnswer(result));
  return { success, data, content, message, metadata };
}

describe("toToolResult", () => {
  it.for<Row>([
    ["no fields", {}, null, []],
    ["empty content", { content: [] }, null, []],
    ["one text block", { content: [said("Hi.")] }, "Hi.", []],
    ["one empty text block", { content: [said("")] }, "", []],
    ["several text blocks", { content: [said("a"), said("b")] }, "a\nb", []],
    ["an image between text blocks", { content: [said("a"), image, said("b")] }, "a\nb", [shown]],
    ["only an image", { content: [image] }, null, [shown]],
    [
      "audio",
      { content: [{ type: "audio", data: "c28=", mimeType: "audio/wav" }] },
      null,
      [{ type: "file", mediaType: "audio/wav", data: "c28=" }],
    ],
    [
      "a resource link",
      {
        content: [{ type: "resource_link", uri: "file:///a.md", name: "a", mimeType: "text/markdown", description: "All of it" }],
      },
      'Resource "a" (text/markdown) at file:///a.md: All of it',
      [],
    ],
    [
      "a resource link that has no description",
      { content: [{ type: "resource_link", uri: "x://a", name: "a", title: "Letter A" }] },
      'Resource "Letter A" at x://a',
      [],
    ],
    ["a text resource", { content: [{ type: "resource", resource: { uri: "x://a", text: "Hi." } }] }, "Resource x://a:\nHi.", []],
    [
      "a binary resource",
      { content: [{ type: "resource", resource: { uri: "x://a", blob: "AAE=" } }] },
      null,
      [{ type: "file", mediaType: "application/octet-stream", data: "AAE=", filename: "a" }],
    ],
    [
      "a resource of bytes that are text",
      { content: [{ type: "resource", resource: { uri: "x://a.md", blob: "YQ==" } }] },
      null,
      [{ type: "file", mediaType: "text/plain", data: "YQ==", filename: "a.md" }],
    ],
    [
      "an image resource",
      { content: [{ type: "resource", resource: { uri: "x://a", blob: "YQ==", mimeType: "image/gif" } }] },
      null,
      [{ type: "image", mediaType: "image/gif", data: "YQ==", filename: "a" }],
    ],
    [
      "unknown types of content to text notes",
      { content: [{ type: "hologram" }, null, { type: "resource" }] },
      '(content of type "hologram", which cannot be shown)\n(content of type "unknown", which cannot be shown)\n(content of type "resource", which cannot be shown)',
      [],
    ],
    [
      "invalid fields in a text block and a link",
      {
        content: [
          { type: "text", text: 5 },
          { type: "resource_link", uri: 1, name: null },
        ],
      },
      '\nResource "" at ',
      [],
    ],
    ...unreadable.map((data): Row => [
      `the invalid base64 data ${JSON.stringify(data)} to text notes`,
      {
        content: [
          { type: "image", data, mimeType: "image/png" },
          { type: "audio", data, mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "x://a", blob: data, mimeType: "application/pdf" } },
        ],
      },
      ["image", "audio", "resource"].map((type) => `(content of type "${type}", which cannot be shown)`).join("\n"),
      [],
    ]),
    [
      "an image as a base64 data URL",
      { content: [{ ...image, data: "data:image/gif;base64,aW1n" }] },
      null,
      [{ ...shown, mediaType: "image/gif" }],
    ],
    ["line breaks in base64 data", { content: [{ type: "image", data: "aW\n1n", mimeType: "image/png" }] }, null, [shown]],
    [
      "control characters in the type of its content",
      { content: [{ type: "\u009b2J\u202e" }] },
      '(content of type "\\u009b2J\\u202e", which cannot be shown)',
      [],
    ],
    ["structured content", { content: [], structuredContent: cold }, cold, []],
    ["null as structured content", { content: [], structuredContent: null }, null, []],
    ["null as structured content, and text", { content: [said("Hi.")], structuredContent: null, isError: null }, "Hi.", []],
    ...wrapped.map(([what, result, texts]): Row => [
      `${what} that FastMCP wraps as "result" and repeats as text`,
      { content: [...texts.map(said), said("Note.")], structuredContent: { result } },
      { result },
      [said("Note.")],
    ]),
    ["a field that text repeats", { content: [said("7")], structuredContent: { celsius: 7 } }, { celsius: 7 }, [said("7")]],
    [
      "structured content and the same content as text",
      { content: [said('{ "places": ["Oslo"], "celsius": 7 }')], structuredContent: cold },
      cold,
      [],
    ],
    [
      "structured content, the same content as text, and an image",
      { content: [said("Cold."), said(JSON.stringify(cold)), image], structuredContent: cold },
      cold,
      [said("Cold."), shown],
    ],
    [
      "structured content and different text",
      { content: [said('{"celsius":8}')], structuredContent: cold },
      cold,
      [said('{"celsius":8}')],
    ],
    ["content and a task", { content: [said("a")], task: { taskId: "1" } }, "a", []],
    ["isError: null", { content: [said("a")], isError: null }, "a", []],
  ])("converts an MCP result with %s", ([, result, data, content]) => {
    expect(read(result)).toEqual({ success: true, data, content, message: undefined, metadata: undefined });
  });

  it("returns the _meta field of an MCP result as metadata", () => {
    expect(read({ content: [], _meta: { "example.com/cost": 3 } }).metadata).toEqual({ "example.com/cost": 3 });
    expect(read({ content: [], _meta: {} }).metadata).toBeUndefined();
    expect(read({ content: [], isError: true, _meta: { a: 1 } }).metadata).toEqual({ a: 1 });
  });
});

describe("toToolResult for failures", () => {
  it.for<[what: string, result: UnknownRecord, message: string]>([
    ["all text blocks, one per line", { content: [said("No."), image, said("Not here.")] }, "No.\nNot here."],
    ["the structured content if the text is blank", { content: [said(" ")], structuredContent: { code: 7 } }, '{"code":7}'],
    ["the text and the structured content", { content: [said("No.")], structuredContent: { code: 7 } }, 'No.\n{"code":7}'],
    [
      "the text alone if the text repeats the structured content",
      { content: [said('{ "code": 7 }')], structuredContent: { code: 7 } },
      '{ "code": 7 }',
    ],
    ["a fixed string if the only content is an image", { content: [image] }, "The tool reported an error without a message."],
    ["a fixed string if there is no content", {}, "The tool reported an error without a message."],
  ])("converts an MCP error result to a failure whose message is %s", ([, result, message]) => {
    const content = listOf(result.content).includes(image) ? [shown] : [];
    expect(read({ ...result, isError: true })).toMatchObject({ success: false, message, content });
  });

  it.for([{ content: [] }, {}])("returns a failure for an MCP result that has a task and the other fields %j", (result) => {
    expect(read({ ...result, task: { taskId: "1" } })).toMatchObject({
      success: false,
      message: expect.stringContaining("task"),
    });
  });
});
