import { describe, expect, it } from "vitest";
import type { Json } from "../core/index.ts";
import { ReasoningDetails, readChatMetadata, toChatMetadata } from "./chat-metadata.ts";

function collect(...fragments: readonly object[]): readonly Json[] {
  const details = new ReasoningDetails();
  for (const fragment of fragments) details.add([fragment]);
  return details.all;
}

describe("openaiChat: provider metadata from reasoning_details", () => {
  it.for<[what: string, fragments: readonly object[], whole: readonly object[]]>([
    [
      "text that arrives in pieces",
      [
        { type: "t", index: 0, text: "a" },
        { type: "t", index: 0, text: "b" },
      ],
      [{ type: "t", index: 0, text: "ab" }],
    ],
    [
      "a summary that arrives in pieces",
      [
        { type: "s", summary: "a" },
        { type: "s", summary: "b" },
      ],
      [{ type: "s", summary: "ab" }],
    ],
    [
      "a signature that arrives after its text",
      [
        { type: "t", text: "a", signature: null },
        { type: "t", signature: "sig" },
      ],
      [{ type: "t", text: "a", signature: "sig" }],
    ],
    [
      "a signature that arrives twice as one signature",
      [
        { type: "t", text: "a", signature: "one" },
        { type: "t", text: "b", signature: "one" },
      ],
      [{ type: "t", text: "ab", signature: "one" }],
    ],
    [
      "a signature that is empty in all other fragments (Vercel, OpenRouter)",
      [
        { type: "t", index: 0, text: "a", signature: "" },
        { type: "t", index: 0, text: "b", signature: "" },
        { type: "t", index: 0, text: "", signature: "one" },
        { type: "t", index: 0, text: "", signature: "" },
        { type: "t", index: 0, signature: null },
      ],
      [{ type: "t", index: 0, text: "ab", signature: "one" }],
    ],
    [
      "the last of two signatures at the same index",
      [
        { type: "t", index: 0, text: "a", signature: "one" },
        { type: "t", index: 0, text: "b", signature: "two" },
      ],
      [{ type: "t", index: 0, text: "ab", signature: "two" }],
    ],
    [
      "two entries for two signed text parts without an index",
      [
        { type: "t", text: "a" },
        { type: "t", text: "b", signature: "one" },
        { type: "t", text: "c" },
        { type: "t", text: "", signature: "two" },
      ],
      [
        { type: "t", text: "ab", signature: "one" },
        { type: "t", text: "c", signature: "two" },
      ],
    ],
    [
      "a signature that arrives before its text",
      [
        { type: "t", index: 0, signature: "one" },
        { type: "t", index: 0, text: "a" },
      ],
      [{ type: "t", index: 0, text: "a", signature: "one" }],
    ],
    [
      "two interleaved text parts separately",
      [
        { type: "t", index: 0, text: "a" },
        { type: "t", index: 1, text: "x", signature: "" },
        { type: "t", index: 0, text: "b", signature: "one" },
        { type: "t", index: 1, text: "y", signature: "two" },
      ],
      [
        { type: "t", index: 0, text: "ab", signature: "one" },
        { type: "t", index: 1, text: "xy", signature: "two" },
      ],
    ],
    [
      "interleaved text and encrypted data",
      [
        { type: "t", index: 0, text: "a" },
        { type: "e", index: 0, data: "x", id: null },
        { type: "t", index: 0, text: "b", signature: "one" },
        { type: "e", index: 0, data: "", id: "rs_1" },
      ],
      [
        { type: "t", index: 0, text: "ab", signature: "one" },
        { type: "e", index: 0, data: "x", id: "rs_1" },
      ],
    ],
    [
      "two entries for details with two ids at the same index",
      [
        { type: "s", index: 0, id: "rs_1", summary: "a" },
        { type: "s", index: 0, id: "rs_2", summary: "b" },
      ],
      [
        { type: "s", index: 0, id: "rs_1", summary: "a" },
        { type: "s", index: 0, id: "rs_2", summary: "b" },
      ],
    ],
    [
      "details at two indexes separately",
      [
        { type: "t", index: 0, text: "a" },
        { type: "t", index: 1, text: "b" },
      ],
      [
        { type: "t", index: 0, text: "a" },
        { type: "t", index: 1, text: "b" },
      ],
    ],
    [
      "details of two types separately",
      [
        { type: "s", summary: "a" },
        { type: "t", text: "b" },
      ],
      [
        { type: "s", summary: "a" },
        { type: "t", text: "b" },
      ],
    ],
    [
      "an entry for each piece of encrypted data",
      [
        { type: "e", data: "a" },
        { type: "e", data: "b" },
      ],
      [
        { type: "e", data: "a" },
        { type: "e", data: "b" },
      ],
    ],
    [
      "separate entries for text and the data after it",
      [
        { type: "t", text: "a" },
        { type: "t", data: "b" },
      ],
      [
        { type: "t", text: "a" },
        { type: "t", data: "b" },
      ],
    ],
  ])("contains %s", ([, fragments, whole]) => {
    expect(collect(...fragments)).toEqual(whole);
  });

  it("omits invalid details", () => {
    const details = new ReasoningDetails();
    expect(details.add([{ text: "a" }, null, "x", { summary: "b" }, { data: "c" }])).toBe("ab");
    expect(details.add([{ text: "d" }])).toBe("d");
  });

  it("is collected without changing the SDK's chunks", () => {
    const fragment = { type: "t", text: "a" };
    collect(fragment, { type: "t", text: "b" });
    expect(fragment).toEqual({ type: "t", text: "a" });
  });
});

describe("openaiChat: provider metadata", () => {
  const items = toChatMetadata([{ type: "t", text: "a" }], new Map([[1, { google: { thought_signature: "s" } }]]));
  const providerMetadata = items.map((item) => ({ provider: "openai", model: "m", item }));

  it("contains the reasoning details and each call's extra_content", () => {
    expect(readChatMetadata(providerMetadata, { id: "openai", model: "m" })).toEqual({
      reasoningDetails: [{ type: "t", text: "a" }],
      argumentTexts: new Map(),
      extras: new Map([[1, { google: { thought_signature: "s" } }]]),
    });
  });

  it.for([
    { id: "openai", model: "other" },
    { id: "other", model: "m" },
  ])("is ignored by a different provider or model: %j", (provider) => {
    expect(readChatMetadata(providerMetadata, provider)).toEqual({
      reasoningDetails: undefined,
      argumentTexts: new Map(),
      extras: new Map(),
    });
  });

  it.for<[item: Json]>([["x"], [null], [[1]], [{ call: "0", extra_content: 1 }], [{ call: 0 }]])(
    "has no effect if it is the malformed item %j",
    ([item]) => {
      expect(readChatMetadata([{ provider: "openai", model: "m", item }], { id: "openai", model: "m" })).toEqual({
        reasoningDetails: undefined,
        argumentTexts: new Map(),
        extras: new Map(),
      });
    },
  );

  it("is empty if the stream had no metadata", () => {
    expect(toChatMetadata([], new Map())).toEqual([]);
    expect(readChatMetadata(undefined, { id: "openai", model: "m" }).reasoningDetails).toBeUndefined();
  });
});
