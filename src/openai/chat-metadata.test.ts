// Data that a server gets back unchanged.

import { describe, expect, it } from "vitest";
import type { Json } from "../core/provider-kit.ts";
import { collectReasoningDetails, readChatMetadata, toChatMetadata } from "./chat-metadata.ts";

function collect(...fragments: readonly object[]): readonly Json[] {
  const details = collectReasoningDetails();
  for (const fragment of fragments) details.add([fragment]);
  return details.all();
}

describe("collectReasoningDetails", () => {
  it.for<[what: string, fragments: readonly object[], whole: readonly object[]]>([
    [
      "text in pieces",
      [
        { type: "t", index: 0, text: "a" },
        { type: "t", index: 0, text: "b" },
      ],
      [{ type: "t", index: 0, text: "ab" }],
    ],
    [
      "a summary in pieces",
      [
        { type: "s", summary: "a" },
        { type: "s", summary: "b" },
      ],
      [{ type: "s", summary: "ab" }],
    ],
    [
      "a signature that comes last",
      [
        { type: "t", text: "a", signature: null },
        { type: "t", signature: "sig" },
      ],
      [{ type: "t", text: "a", signature: "sig" }],
    ],
    [
      "a signature that is repeated",
      [
        { type: "t", text: "a", signature: "one" },
        { type: "t", text: "b", signature: "one" },
      ],
      [{ type: "t", text: "ab", signature: "one" }],
    ],
    [
      "a signature that is empty before and after it comes (Vercel, OpenRouter)",
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
      "two signatures under one index, of which the last one counts",
      [
        { type: "t", index: 0, text: "a", signature: "one" },
        { type: "t", index: 0, text: "b", signature: "two" },
      ],
      [{ type: "t", index: 0, text: "ab", signature: "two" }],
    ],
    [
      "two signed texts without an index, which stay two",
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
      "a signature that comes before its text",
      [
        { type: "t", index: 0, signature: "one" },
        { type: "t", index: 0, text: "a" },
      ],
      [{ type: "t", index: 0, text: "a", signature: "one" }],
    ],
    [
      "two texts that interleave",
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
      "a text under an index with encrypted data between",
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
      "two ids under one index, which stay two",
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
      "two indexes",
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
      "two types",
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
      "encrypted data, which is never joined",
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
      "data after text",
      [
        { type: "t", text: "a" },
        { type: "t", data: "b" },
      ],
      [
        { type: "t", text: "a" },
        { type: "t", data: "b" },
      ],
    ],
  ])("joins %s", ([, fragments, whole]) => {
    expect(collect(...fragments)).toEqual(whole);
  });

  it("returns the new text only, and passes over what is no detail", () => {
    const details = collectReasoningDetails();
    expect(details.add([{ text: "a" }, null, "x", { summary: "b" }, { data: "c" }])).toBe("ab");
    expect(details.add([{ text: "d" }])).toBe("d");
  });

  it("does not change what the SDK handed over", () => {
    const fragment = { type: "t", text: "a" };
    collect(fragment, { type: "t", text: "b" });
    expect(fragment).toEqual({ type: "t", text: "a" });
  });
});

describe("provider metadata", () => {
  const items = toChatMetadata([{ type: "t", text: "a" }], new Map([[1, { google: { thought_signature: "s" } }]]));
  const providerMetadata = items.map((item) => ({ provider: "openai", model: "m", item }));

  it("come back as they went in", () => {
    expect(readChatMetadata(providerMetadata, { id: "openai", model: "m" })).toEqual({
      reasoningDetails: [{ type: "t", text: "a" }],
      extras: new Map([[1, { google: { thought_signature: "s" } }]]),
    });
  });

  it.for([
    { id: "openai", model: "other" },
    { id: "other", model: "m" },
  ])("are left out for %j", (provider) => {
    expect(readChatMetadata(providerMetadata, provider)).toEqual({ reasoningDetails: undefined, extras: new Map() });
  });

  it.for<[item: Json]>([["x"], [null], [[1]], [{ call: "0", extra_content: 1 }], [{ call: 0 }]])(
    "of another kind, such as %j, are passed over",
    ([item]) => {
      expect(readChatMetadata([{ provider: "openai", model: "m", item }], { id: "openai", model: "m" })).toEqual({
        reasoningDetails: undefined,
        extras: new Map(),
      });
    },
  );

  it("are none where the stream had none", () => {
    expect(toChatMetadata([], new Map())).toEqual([]);
    expect(readChatMetadata(undefined, { id: "openai", model: "m" }).reasoningDetails).toBeUndefined();
  });
});
