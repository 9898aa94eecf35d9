// Assistant messages that are sent back, messages that are written from their neutral parts, and the conversion of items.

import { describe, expect, it } from "vitest";
import { textOf, type AssistantMessage, type AssistantPart, type Json } from "../core/provider-kit.ts";
import { readResponsesMetadata, toResponsesMetadata, toWireCallId } from "./responses-metadata.ts";

type Item = { readonly [field: string]: Json };

const reader = { id: "openai", model: "m", store: false };
const said = (text: string): AssistantPart => ({ type: "text", text });
const asks = (callId: string, name = "f"): AssistantPart => ({ type: "tool-call", callId, name, args: {} });
const reasoning: Item = { type: "reasoning", summary: [], encrypted_content: "x" };
const message = (text: string, rest: Item = {}): Item => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...rest,
});
const call = (id: string, rest: Item = {}): Item => ({ type: "function_call", call_id: id, name: "f", arguments: "{}", ...rest });
const custom: Item = { type: "custom_tool_call", call_id: "1", name: "f", input: "SELECT 1" };

interface Changes {
  readonly provider?: string;
  readonly model?: string;
  readonly stored?: boolean;
}

const turn = (content: readonly AssistantPart[], items: readonly Json[], changes: Changes = {}): AssistantMessage => {
  const { provider = "openai", model = "m", stored = false } = changes;
  return {
    role: "assistant",
    content,
    providerMetadata: toResponsesMetadata(items, stored).map((item) => ({ provider, model, item })),
  };
};

describe("a turn", () => {
  it.for<[what: string, content: readonly AssistantPart[], items: readonly Item[]]>([
    ["reasoning, text and calls", [said("a"), asks("1"), asks("2")], [reasoning, message("a"), reasoning, call("1"), call("2")]],
    [
      "its phases, the messages apart",
      [said("a\n\nb")],
      [message("a", { phase: "commentary" }), message("b", { phase: "final_answer" })],
    ],
    ["a message without words", [said("a")], [message("a"), message("")]],
    [
      "a message of several parts",
      [said("ab")],
      [
        message("", {
          content: [
            { type: "output_text", text: "a" },
            { type: "output_text", text: "b" },
          ],
        }),
      ],
    ],
    ["a refusal", [said("No")], [message("", { content: [{ type: "refusal", refusal: "No" }] })]],
    ["calls in another order", [asks("2"), asks("1")], [call("1"), call("2")]],
    ["a call of a custom tool", [asks("1")], [custom]],
    [
      "the place and the caller of a call",
      [asks("1")],
      [call("1", { namespace: "n", caller: { type: "program", caller_id: "p" } })],
    ],
    ["unknown items", [said("a")], [{ type: "novelty", id: "n", status: "x", deep: [null] }, message("a")]],
    [
      "a search of the service",
      [said("a")],
      [{ type: "web_search_call", status: "completed", action: { type: "search" } }, message("a")],
    ],
    [
      "a tool search of the service",
      [asks("1")],
      [
        { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
        { type: "tool_search_output", call_id: null, tools: [] },
        call("1"),
      ],
    ],
    ["a program", [asks("1")], [{ type: "program", id: "p", call_id: "p", code: "x" }, call("1")]],
    [
      "what a client's tool did, answered",
      [said("a")],
      [{ type: "shell_call", call_id: "s" }, { type: "shell_call_output", call_id: "s" }, message("a")],
    ],
    ["compacted history", [said("a")], [{ type: "compaction", encrypted_content: "x" }, message("a")]],
    [
      "reasoning in plain words",
      [said("a")],
      [{ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm" }] }, message("a")],
    ],
  ])("is sent back as it came: %s", ([, content, items]) => {
    expect(readResponsesMetadata(turn(content, items), reader)).toEqual(items);
  });

  it.for<[what: string, message: AssistantMessage]>([
    ["no provider metadata", { role: "assistant", content: [said("a")] }],
    ["an empty list", turn([], [])],
    ["parts of another provider", turn([said("a")], [message("a")], { provider: "azure" })],
    ["parts of another model", turn([said("a")], [message("a")], { model: "n" })],
    [
      "parts of another kind",
      {
        role: "assistant",
        content: [said("a")],
        providerMetadata: [{ provider: "openai", model: "m", item: { reasoning_details: [] } }],
      },
    ],
    [
      "parts of which one is another's",
      {
        role: "assistant",
        content: [said("a")],
        providerMetadata: [
          ...(turn([], [message("a")]).providerMetadata ?? []),
          { provider: "x", model: "m", item: { output_item: {} } },
        ],
      },
    ],
    ["another text", turn([said("b")], [message("a")])],
    ["a text that is not among the items", turn([said("a"), asks("1")], [call("1")])],
    ["a call that is not among the items", turn([said("a"), asks("1")], [message("a")])],
    ["a call of another id", turn([asks("call_i1_0")], [call("1")])],
    ["a call of another name", turn([asks("1", "g")], [call("1")])],
    ["two calls of one id", turn([asks("1"), asks("2")], [call("1"), call("1")])],
    ["a name that the service does not take", turn([asks("1", "a b")], [call("1", { name: "a b" })])],
    ["a call that was left out", turn([asks("1")], [call("1"), call("2")])],
    ["an approval that is waited for", turn([said("a")], [message("a"), { type: "mcp_approval_request", id: "a" }])],
    ...["computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"].map(
      (type): [string, AssistantMessage] => [
        `a ${type} that is waited for`,
        turn([said("a")], [message("a"), { type, call_id: "c" }]),
      ],
    ),
  ])("is written anew where it has %s", ([, given]) => {
    expect(readResponsesMetadata(given, reader)).toBeUndefined();
  });

  it.for<[what: string, items: readonly Item[], sent: readonly Item[]]>([
    ["only reasoning", [reasoning], []],
    ["reasoning at its end", [reasoning, message("a"), reasoning, reasoning], [reasoning, message("a")]],
  ])("loses the reasoning that nothing follows: %s", ([, items, sent]) => {
    const text = items.length > 1 ? [said("a")] : [];
    expect(readResponsesMetadata(turn(text, items), reader)).toEqual(sent);
  });
});

describe("an item", () => {
  const send = (item: Item, { stored = false, store = false } = {}): unknown => {
    const asked = item.type === "function_call" || item.type === "custom_tool_call";
    const rest = asked ? [] : [message("a")];
    const content = asked ? [asks(textOf(item.call_id), textOf(item.name))] : [said("a")];
    const items = readResponsesMetadata(turn(content, item.type === "message" ? [item] : [item, ...rest], { stored }), {
      ...reader,
      store,
    });
    return items?.length === (item.type === "message" || asked ? 1 : 2) ? items[0] : undefined;
  };
  const id = { id: "x_1" };
  const status = { status: "completed" };

  it.for<[item: Item, keepsId: boolean]>([
    [message("a"), false],
    [reasoning, false],
    [call("1"), false],
    [custom, false],
    [{ type: "web_search_call" }, false],
    [{ type: "tool_search_call" }, false],
    [{ type: "tool_search_output" }, false],
    [{ type: "compaction" }, false],
    [{ type: "image_generation_call" }, true],
    [{ type: "mcp_call" }, true],
    [{ type: "code_interpreter_call" }, true],
    [{ type: "novelty" }, true],
  ])("that is not stored has an id only where the service demands it: %j", ([item, keepsId]) => {
    const known = { ...item, ...id };
    expect(send(known)).toEqual(keepsId ? known : item);
    expect(send(known, { store: true })).toEqual(keepsId ? known : item);
    expect(send(known, { stored: true })).toEqual(keepsId ? known : item);
    expect(send(known, { stored: true, store: true })).toEqual(known);
  });

  it.for<[item: Item, stored: boolean, keepsStatus: boolean]>([
    [message("a"), false, false],
    [message("a"), true, true],
    [reasoning, true, false],
    [call("1"), true, false],
    [custom, true, false],
    [{ type: "web_search_call" }, false, true],
  ])("has a status only where the service takes it: %j (stored: %s)", ([item, stored, keepsStatus]) => {
    const known = { ...item, ...status };
    expect(send(known, { stored, store: stored })).toEqual(keepsStatus ? known : item);
  });

  it.for<[what: string, item: Item, sent: unknown]>([
    ["who made it", { ...call("1"), created_by: "x" }, call("1")],
    [
      "probabilities",
      message("", { content: [{ type: "output_text", text: "a", logprobs: [{}] }] }),
      message("", { content: [{ type: "output_text", text: "a" }] }),
    ],
    [
      "an encrypted content that is none",
      { type: "reasoning", encrypted_content: null, summary: [], content: [{}] },
      { type: "reasoning", summary: [], content: [{}] },
    ],
    ["no summary", { type: "reasoning", encrypted_content: "x" }, reasoning],
    [
      "reasoning that only an id could find",
      { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm" }], encrypted_content: null },
      undefined,
    ],
    ["no arguments", call("1", { arguments: "" }), call("1")],
    ["arguments that are no text", call("1", { arguments: { n: 1 } }), call("1", { arguments: '{"n":1}' })],
    ["arguments that are no object", call("1", { arguments: "[1]" }), call("1", { arguments: '{"INVALID_JSON":"[1]"}' })],
    ["arguments that are no JSON", call("1", { arguments: '{"n"' }), call("1", { arguments: '{"INVALID_JSON":"{\\"n\\""}' })],
    ["arguments with spaces, which stay", call("1", { arguments: ' {"n": 1.0} ' }), call("1", { arguments: ' {"n": 1.0} ' })],
    ["an id that is too long", call("c".repeat(65)), call(toWireCallId("c".repeat(65)))],
  ])("is sent without what the service refuses: %s", ([, item, sent]) => {
    expect(send(item)).toEqual(sent);
  });

  it("that is stored is found by its id, whatever else it has", () => {
    const bare = { type: "reasoning", id: "r", summary: [], encrypted_content: null };
    expect(send(bare, { stored: true, store: true })).toEqual({ type: "reasoning", id: "r", summary: [] });
  });

  it("is sent in the transcript's own words, which stay as they are", () => {
    const item = message("a", { id: "m", status: "completed" });
    const given = turn([said("a")], [item]);
    readResponsesMetadata(given, reader);
    expect(given.providerMetadata?.[0]?.item).toEqual({ output_item: item });
  });
});

describe("the id of a call", () => {
  it.for<[id: string]>([["call_1"], ["functions.get_weather:0"], ["x".repeat(64)]])("%s is sent as it is", ([id]) => {
    expect(toWireCallId(id)).toBe(id);
  });

  it("is shortened where the service would refuse it, differently for different ones", () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `${"x".repeat(100)}${index}`);
    const sent = ids.map(toWireCallId);
    expect(new Set(sent).size).toBe(1_000);
    expect(sent.every((id) => id.length === 64 && id.startsWith("xxxx"))).toBe(true);
    // An id in the converted form may also come from elsewhere.
    expect(new Set([...sent, ...sent.map(toWireCallId)]).size).toBe(2_000);
  });
});
