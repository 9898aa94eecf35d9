import { describe, expect, it } from "vitest";
import type { AssistantMessage, Json } from "../core/index.ts";
import type { AssistantPart } from "../core/kit.ts";
import type { WireBlock } from "./messages-options.ts";
import { readContainer, readMetadata, toContainer, toMetadataItems } from "./provider-metadata.ts";

const reader = { id: "anthropic", model: "m" };
const thinking = { type: "thinking", thinking: "", signature: "s" };
const text = (content: string): WireBlock => ({ type: "text", text: content });
const use = (id: string, name = "f"): WireBlock => ({ type: "tool_use", id, name, input: {} });
const said = (content: string): AssistantPart => ({ type: "text", text: content });
const call = (callId: string, name = "f"): AssistantPart => ({ type: "tool-call", callId, name, args: {} });

const providerMetadata = (items: readonly Json[], changes: object = {}): NonNullable<AssistantMessage["providerMetadata"]> =>
  items.map((item) => ({ provider: "anthropic", model: "m", ...changes, item }));

const turn = (content: readonly AssistantPart[], blocks: readonly WireBlock[], changes: object = {}): AssistantMessage => ({
  role: "assistant",
  content,
  providerMetadata: providerMetadata(toMetadataItems(blocks, undefined), changes),
});

const blocksOf = (message: AssistantMessage): unknown => readMetadata(message, reader);

describe("anthropicMessages when it sends back an assistant message", () => {
  it.for<[what: string, content: readonly AssistantPart[], blocks: readonly WireBlock[]]>([
    [
      "a message with text and tool calls",
      [said("ab"), call("t1"), call("t2")],
      [thinking, text("a"), text("b"), use("t1"), use("t2")],
    ],
    ["a message with reasoning and text", [{ type: "reasoning", text: "Hm" }, said("a")], [thinking, text("a")]],
    ["a message with unknown blocks", [said("a")], [{ type: "novelty", deep: [null] }, text("a")]],
  ])("sends the same blocks for %s", ([, content, blocks]) => {
    expect(blocksOf(turn(content, blocks))).toEqual(blocks);
  });

  it("removes blank text, which the service rejects", () => {
    expect(blocksOf(turn([said("\n\n"), call("t1")], [thinking, text("\n\n"), use("t1")]))).toEqual([thinking, use("t1")]);
  });

  it("removes a document, which the service accepts only in results", () => {
    expect(blocksOf(turn([said("a")], [text("a"), { type: "document", source: {} }]))).toEqual([text("a")]);
  });

  it.for<[what: string, content: readonly AssistantPart[], blocks: readonly WireBlock[], sent: readonly WireBlock[]]>([
    ["a message that has only thinking", [], [thinking], []],
    [
      "a message that ends with thinking",
      [said("a")],
      [thinking, text("a"), { type: "redacted_thinking", data: "x" }, thinking],
      [thinking, text("a")],
    ],
  ])("removes trailing thinking, which the service rejects, from %s", ([, content, blocks, sent]) => {
    expect(blocksOf(turn(content, blocks))).toEqual(sent);
  });

  it.for<[what: string, message: AssistantMessage]>([
    ["has no provider metadata", { role: "assistant", content: [said("a")] }],
    ["has empty provider metadata", { role: "assistant", content: [said("a")], providerMetadata: [] }],
    ["comes from another provider", turn([said("a")], [text("a")], { provider: "bedrock" })],
    ["comes from another model", turn([said("a")], [text("a")], { model: "other" })],
    [
      "comes from several models",
      {
        role: "assistant",
        content: [said("ab")],
        providerMetadata: [
          ...providerMetadata([{ content_block: text("a") }]),
          ...providerMetadata([{ content_block: text("b") }], { model: "x" }),
        ],
      },
    ],
    [
      "has metadata in a different format",
      { role: "assistant", content: [], providerMetadata: providerMetadata([{ thoughts: [] }]) },
    ],
    ["has metadata that is not an object", { role: "assistant", content: [], providerMetadata: providerMetadata(["x"]) }],
    ["has edited text", turn([said("b")], [text("a")])],
    ["has a continuation that was cut off", turn([said("ab")], [text("a")])],
    ["has a call id that differs from the blocks", turn([call("call_i1_0")], [use("t1")])],
    ["has a tool name that differs from the blocks", turn([call("t1", "g")], [use("t1")])],
    ["lacks a call that the blocks have", turn([], [use("t1")])],
    ["has a call that the blocks lack", turn([call("t1"), call("t2")], [use("t1")])],
    ["has calls in a different order from the blocks", turn([call("t2"), call("t1")], [use("t1"), use("t2")])],
    ["has a tool name that the service rejects", turn([call("t1", "f g")], [use("t1", "f g")])],
    ["has a call id that the service rejects", turn([call("f:0")], [use("f:0")])],
  ])("rebuilds a message from text and calls if the message %s", ([, message]) => {
    expect(blocksOf(message)).toBeUndefined();
  });
});

describe("anthropicMessages: the container in provider metadata", () => {
  it("is the last container from the same provider, even from a different model", () => {
    const items = [{ container: { id: "c1" } }, { container: { id: "c2", expires_at: "2999" } }, { container: null }];
    const container = { id: "c2", expires_at: "2999" };
    expect(readContainer(providerMetadata(items, { model: "other" }), reader.id)).toEqual(container);
    expect(readContainer(providerMetadata(items, { provider: "x" }), reader.id)).toBeUndefined();
  });

  it.for<[value: unknown, container: unknown]>([
    [
      { id: "c", expires_at: "2999", skills: null },
      { id: "c", expires_at: "2999" },
    ],
    [{ id: "c", expires_at: 5 }, { id: "c" }],
    [{ id: "" }, undefined],
    [{ id: 5 }, undefined],
    [null, undefined],
  ])("is read from %j as %j", ([value, container]) => {
    expect(toContainer(value)).toEqual(container);
  });
});
