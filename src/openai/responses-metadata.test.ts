import { describe, expect, it } from "vitest";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { type AssistantPart, textOf } from "../core/kit.ts";
import type { AssistantMessage, Json } from "../core/index.ts";
import { readResponsesMetadata, toResponsesMetadata } from "./responses-metadata.ts";

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

describe("openaiResponses when it sends back an assistant message", () => {
  it.for<[what: string, content: readonly AssistantPart[], items: readonly Item[]]>([
    ["reasoning, text and calls", [said("a"), asks("1"), asks("2")], [reasoning, message("a"), reasoning, call("1"), call("2")]],
    ["messages with a phase", [said("a\n\nb")], [message("a", { phase: "commentary" }), message("b", { phase: "final_answer" })]],
    ["an empty message", [said("a")], [message("a"), message("")]],
    [
      "a message with several parts",
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
    ["calls in a different order", [asks("2"), asks("1")], [call("1"), call("2")]],
    ["a custom tool call", [asks("1")], [custom]],
    [
      "the namespace and the caller of a call",
      [asks("1")],
      [call("1", { namespace: "n", caller: { type: "program", caller_id: "p" } })],
    ],
    ["unknown items", [said("a")], [{ type: "novelty", id: "n", status: "x", deep: [null] }, message("a")]],
    ["a web search", [said("a")], [{ type: "web_search_call", status: "completed", action: { type: "search" } }, message("a")]],
    [
      "a tool search",
      [asks("1")],
      [
        { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
        { type: "tool_search_output", call_id: null, tools: [] },
        call("1"),
      ],
    ],
    ["a program that makes a call", [asks("1")], [{ type: "program", id: "p", call_id: "p", code: "x" }, call("1")]],
    [
      "a shell call that has its output",
      [said("a")],
      [{ type: "shell_call", call_id: "s" }, { type: "shell_call_output", call_id: "s" }, message("a")],
    ],
    ["compacted history", [said("a")], [{ type: "compaction", encrypted_content: "x" }, message("a")]],
    [
      "unencrypted reasoning",
      [said("a")],
      [{ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm" }] }, message("a")],
    ],
  ])("sends back, without changes, %s", ([, content, items]) => {
    expect(readResponsesMetadata(turn(content, items), reader)).toEqual(items);
  });

  it.for<[what: string, message: AssistantMessage]>([
    ["no provider metadata", { role: "assistant", content: [said("a")] }],
    ["only empty provider metadata", turn([], [])],
    ["metadata from another provider", turn([said("a")], [message("a")], { provider: "azure" })],
    ["metadata from another model", turn([said("a")], [message("a")], { model: "n" })],
    [
      "metadata in a different format",
      {
        role: "assistant",
        content: [said("a")],
        providerMetadata: [{ provider: "openai", model: "m", item: { reasoning_details: [] } }],
      },
    ],
    [
      "metadata from two providers",
      {
        role: "assistant",
        content: [said("a")],
        providerMetadata: [
          ...(turn([], [message("a")]).providerMetadata ?? []),
          { provider: "x", model: "m", item: { output_item: {} } },
        ],
      },
    ],
    ["text that differs from the items", turn([said("b")], [message("a")])],
    ["text that is not among the items", turn([said("a"), asks("1")], [call("1")])],
    ["a call that is not among the items", turn([said("a"), asks("1")], [message("a")])],
    ["a call whose id differs from the items", turn([asks("call_i1_0")], [call("1")])],
    ["a call whose name differs from the items", turn([asks("1", "g")], [call("1")])],
    ["one id for two calls in the items", turn([asks("1"), asks("2")], [call("1"), call("1")])],
    ["a tool name that the service rejects", turn([asks("1", "a b")], [call("1", { name: "a b" })])],
    ["an item for a call that the message lacks", turn([asks("1")], [call("1"), call("2")])],
    ["an unanswered MCP approval request", turn([said("a")], [message("a"), { type: "mcp_approval_request", id: "a" }])],
    ...["computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"].map(
      (type): [string, AssistantMessage] => [`an unanswered ${type}`, turn([said("a")], [message("a"), { type, call_id: "c" }])],
    ),
  ])("rebuilds the message from text and calls if the message has %s", ([, given]) => {
    expect(readResponsesMetadata(given, reader)).toBeUndefined();
  });

  it.for<[what: string, items: readonly Item[], sent: readonly Item[]]>([
    ["a message that has only reasoning", [reasoning], []],
    ["a message that ends with reasoning", [reasoning, message("a"), reasoning, reasoning], [reasoning, message("a")]],
  ])("removes trailing reasoning from %s", ([, items, sent]) => {
    const text = items.length > 1 ? [said("a")] : [];
    expect(readResponsesMetadata(turn(text, items), reader)).toEqual(sent);
  });
});

describe("openaiResponses when it sends back an output item", () => {
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

  it.for<[verb: "keeps" | "removes", item: Item]>([
    ["removes", message("a")],
    ["removes", reasoning],
    ["removes", call("1")],
    ["removes", custom],
    ["removes", { type: "web_search_call" }],
    ["removes", { type: "tool_search_call" }],
    ["removes", { type: "tool_search_output" }],
    ["removes", { type: "compaction" }],
    ["keeps", { type: "image_generation_call" }],
    ["keeps", { type: "mcp_call" }],
    ["keeps", { type: "code_interpreter_call" }],
    ["keeps", { type: "novelty" }],
  ])("%s the id of the unstored item %j", ([verb, item]) => {
    const keepsId = verb === "keeps";
    const known = { ...item, ...id };
    expect(send(known)).toEqual(keepsId ? known : item);
    expect(send(known, { store: true })).toEqual(keepsId ? known : item);
    expect(send(known, { stored: true })).toEqual(keepsId ? known : item);
    expect(send(known, { stored: true, store: true })).toEqual(known);
  });

  it.for<[verb: "keeps" | "removes", kind: "stored" | "unstored", item: Item]>([
    ["removes", "unstored", message("a")],
    ["keeps", "stored", message("a")],
    ["removes", "stored", reasoning],
    ["removes", "stored", call("1")],
    ["removes", "stored", custom],
    ["keeps", "unstored", { type: "web_search_call" }],
  ])("%s the status of the %s item %j", ([verb, kind, item]) => {
    const stored = kind === "stored";
    const known = { ...item, ...status };
    expect(send(known, { stored, store: stored })).toEqual(verb === "keeps" ? known : item);
  });

  it.for<[what: string, item: Item, sent: unknown]>([
    ["the created_by field", { ...call("1"), created_by: "x" }, call("1")],
    [
      "the logprobs field",
      message("", { content: [{ type: "output_text", text: "a", logprobs: [{}] }] }),
      message("", { content: [{ type: "output_text", text: "a" }] }),
    ],
    [
      "a null encrypted_content",
      { type: "reasoning", encrypted_content: null, summary: [], content: [{}] },
      { type: "reasoning", summary: [], content: [{}] },
    ],
    ["a missing summary", { type: "reasoning", encrypted_content: "x" }, reasoning],
    [
      "reasoning that can be found only by its id",
      { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm" }], encrypted_content: null },
      undefined,
    ],
    ["empty arguments", call("1", { arguments: "" }), call("1")],
    ["arguments that are an object", call("1", { arguments: { n: 1 } }), call("1", { arguments: '{"n":1}' })],
    ["arguments that are an array", call("1", { arguments: "[1]" }), call("1", { arguments: '{"INVALID_JSON":"[1]"}' })],
    ["arguments that are not JSON", call("1", { arguments: '{"n"' }), call("1", { arguments: '{"INVALID_JSON":"{\\"n\\""}' })],
    ["spaces in the arguments", call("1", { arguments: ' {"n": 1.0} ' }), call("1", { arguments: ' {"n": 1.0} ' })],
    ["a call id that is too long", call("c".repeat(65)), call(toWireId("c".repeat(65), idRules.responses))],
  ])("changes or omits an item that the service would reject because of %s", ([, item, sent]) => {
    expect(send(item)).toEqual(sent);
  });

  it("sends back a stored reasoning item that has only an id", () => {
    const bare = { type: "reasoning", id: "r", summary: [], encrypted_content: null };
    expect(send(bare, { stored: true, store: true })).toEqual({ type: "reasoning", id: "r", summary: [] });
  });

  it("does not change the items in the transcript", () => {
    const item = message("a", { id: "m", status: "completed" });
    const given = turn([said("a")], [item]);
    readResponsesMetadata(given, reader);
    expect(given.providerMetadata?.[0]?.item).toEqual({ output_item: item });
  });
});
