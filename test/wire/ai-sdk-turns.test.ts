import { describe, expect, it } from "vitest";
import type { AssistantMessage, ToolMessage } from "turnwright";
import { createBench, user } from "./ai-sdk-bench.ts";
import { answer, call, metadata, part } from "./ai-sdk-message-parts.ts";
import { specs } from "./ai-sdk-specs.ts";

describe.each(specs)("aiSdkModel (spec $version): an assistant message in the next request", (spec) => {
  const meta = { mock: { itemId: "fc_1", caller: { type: "program" } } };
  const parts = [
    { type: "reasoning", text: "Hm", providerOptions: { mock: { signature: "c2ln" } } },
    { type: "text", text: "Let me ", providerOptions: { mock: { phase: "commentary" } } },
    { type: "tool-call", toolCallId: "a", toolName: "search", input: { q: 1 }, providerOptions: meta },
    { type: "text", text: "see." },
  ];
  const turn: AssistantMessage = {
    role: "assistant",
    content: [{ type: "reasoning", text: "Hm" }, { type: "text", text: "Let me see." }, call("a")],
    providerMetadata: metadata("mock.chat", "m", ...parts.map(part), { source: { type: "source" } }),
  };
  const results: ToolMessage = { role: "tool", results: [answer("a")] };
  const output = { type: "json", value: { n: 1 } };
  const rebuilt = {
    role: "assistant",
    content: [
      { type: "text", text: "Let me see." },
      { type: "tool-call", toolCallId: "a", toolName: "search", input: { q: 1 } },
    ],
  };

  it("contains the original parts in order", async () => {
    const { send } = createBench(spec);
    expect(await send({ messages: [user("Hi"), turn, results] })).toMatchObject({
      prompt: [
        { role: "user" },
        { role: "assistant", content: parts },
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId: "a", toolName: "search", output, providerOptions: meta }],
        },
      ],
    });
  });

  it.for<[what: string, turn: AssistantMessage]>([
    ["comes from another service", { ...turn, providerMetadata: metadata("other.chat", "m", ...parts.map(part)) }],
    ["comes from another model", { ...turn, providerMetadata: metadata("mock.chat", "n", ...parts.map(part)) }],
    [
      "comes partly from another model",
      {
        ...turn,
        providerMetadata: [...(turn.providerMetadata ?? []), ...(metadata("x", "m", part({ type: "text" })) ?? [])],
      },
    ],
    ["is missing", { ...turn, providerMetadata: undefined }],
    [
      "contains a different call id",
      {
        ...turn,
        providerMetadata: metadata(
          "mock.chat",
          "m",
          ...parts.map((fields) => part("toolCallId" in fields ? { ...fields, toolCallId: "b" } : fields)),
        ),
      },
    ],
    ["contains different text", { ...turn, providerMetadata: metadata("mock.chat", "m", ...parts.slice(0, 3).map(part)) }],
    [
      "has a text part where the call should be",
      {
        ...turn,
        providerMetadata: metadata("mock.chat", "m", ...parts.slice(0, 2).map(part), part({ type: "text", text: "see." })),
      },
    ],
  ])("is rebuilt from text and calls if the provider metadata %s", async ([, message]) => {
    const { send } = createBench(spec);
    await send({ messages: [user("Hi"), turn, results] });
    const { prompt } = Object.assign(
      { prompt: [] as readonly unknown[] },
      await send({ messages: [user("Hi"), message, results] }),
    );
    expect(prompt.slice(1)).toEqual([
      rebuilt,
      { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "search", output }] },
    ]);
  });

  it("is omitted if it has neither text nor calls", async () => {
    const { send } = createBench(spec);
    const empty: AssistantMessage = { role: "assistant", content: [{ type: "reasoning", text: "Hm" }] };
    expect(await send({ messages: [user("Hi"), empty, user("?")] })).toMatchObject({
      prompt: [{ role: "user" }, { role: "user" }],
    });
  });

  it("contains only valid tool names and arguments that are objects", async () => {
    const unfit = `made up!${"x".repeat(80)}`;
    const fit = `made_up_${"x".repeat(56)}`;
    const { send } = createBench(spec);
    const named: AssistantMessage = {
      role: "assistant",
      content: [{ type: "tool-call", callId: "a", name: unfit, args: "text" }],
      providerMetadata: metadata("mock.chat", "m", part({ type: "tool-call", toolCallId: "a", toolName: unfit, input: {} })),
    };
    const answered: ToolMessage = { role: "tool", results: [answer("a", { name: unfit, outcome: "unknown-tool" })] };
    expect(await send({ messages: [user("Hi"), named, answered] })).toMatchObject({
      prompt: [
        { role: "user" },
        { content: [{ type: "tool-call", toolName: fit, input: { INVALID_ARGUMENTS: "text" } }] },
        { content: [{ type: "tool-result", toolName: fit, output: { type: "error-json" } }] },
      ],
    });
  });

  it("keeps the calls and results of provider tools", async () => {
    const { send } = createBench(spec);
    const served = [
      { type: "tool-call", toolCallId: "s", toolName: "web_search", input: { q: "x" }, providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "web_search", output: { type: "json", value: 1 } },
      { type: "text", text: "Found." },
    ];
    const message: AssistantMessage = {
      role: "assistant",
      content: [{ type: "text", text: "Found." }],
      providerMetadata: metadata("mock.chat", "m", ...served.map(part)),
    };
    expect(await send({ messages: [user("Hi"), message] })).toMatchObject({
      prompt: [{}, { role: "assistant", content: served }],
    });
  });

  it("contains the model's files that the specification supports", async () => {
    const { send } = createBench(spec);
    const items = [
      part({ type: "file", mediaType: "image/png", data: "aW1n" }),
      part({ type: "file", mediaType: "image/png", url: "https://made.test/a.png" }),
      part({ type: "reasoning-file", mediaType: "image/png", data: "aW1n" }),
      part({ type: "custom", kind: "mock.x" }),
    ];
    const message: AssistantMessage = {
      role: "assistant",
      content: [],
      providerMetadata: metadata("mock.chat", "m", ...items),
    };
    const { prompt } = Object.assign({ prompt: [] as readonly unknown[] }, await send({ messages: [user("Hi"), message] }));
    const files = [
      { type: "file", mediaType: "image/png", data: spec.promptData("aW1n") },
      { type: "file", mediaType: "image/png", data: spec.promptData(new URL("https://made.test/a.png")) },
    ];
    const only = [
      { type: "reasoning-file", mediaType: "image/png", data: spec.promptData("aW1n") },
      { type: "custom", kind: "mock.x" },
    ];
    expect(prompt.slice(1)).toEqual([{ role: "assistant", content: spec.version === "v4" ? [...files, ...only] : files }]);
  });

  it.for<[what: string, result: Partial<ToolMessage["results"][number]>, output: object]>([
    ["text", { result: "mild" }, { type: "text", value: "mild" }],
    ["JSON data", { result: [1] }, { type: "json", value: [1] }],
    [
      "a context restart",
      { outcome: "restarted", result: { status: "context_restarted" } },
      { type: "json", value: { status: "context_restarted" } },
    ],
    ["the text of a failure", { outcome: "failed", result: "no" }, { type: "error-text", value: "no" }],
    [
      "the JSON data of a failure",
      { outcome: "timed-out", result: { status: "x" } },
      { type: "error-json", value: { status: "x" } },
    ],
    ["a denied call", { outcome: "denied", result: { status: "denied" } }, spec.denial],
    [
      "images and files",
      {
        content: [
          { type: "text", text: "beside" },
          { type: "image", mediaType: "image/png", data: "aW1n" },
          { type: "image", mediaType: "image/png", data: "https://pics.test/a.png" },
          { type: "file", mediaType: "application/pdf", data: "data:;base64,JVBERi0x" },
        ],
      },
      { type: "content", value: spec.resultContent },
    ],
    [
      "descriptions of media that the model cannot read",
      {
        result: "",
        content: [
          { type: "image", mediaType: "image/png", data: "https://else.test/a.png" },
          { type: "image", mediaType: "image/png", data: "data:image/png" },
        ],
      },
      {
        type: "content",
        value: [
          {
            type: "text",
            text: '[The tool returned an image of type image/png at a URL with the scheme "https:", which cannot be shown to you: the service accepts files as base64, and only some URLs.]',
          },
          {
            type: "text",
            text: "[The tool returned an image of type image/png, which cannot be shown to you: its data URL cannot be read.]",
          },
        ],
      },
    ],
  ])("is followed by a tool result with %s", async ([, result, expected]) => {
    const { send } = createBench(spec);
    const plain: AssistantMessage = { role: "assistant", content: [call("a")] };
    const message: ToolMessage = { role: "tool", results: [answer("a", result)] };
    expect(await send({ messages: [user("Hi"), plain, message] })).toMatchObject({
      prompt: [
        {},
        {},
        { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "search", output: expected }] },
      ],
    });
  });
});
