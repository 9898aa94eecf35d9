import { expect, it } from "vitest";
import type { Message } from "../core/index.ts";
import type { WireBlock, WireMessage } from "./messages-options.ts";
import { removeRefusedBlocks } from "./refused-blocks.ts";

const asks = (id: string, name = "web_search"): WireBlock => ({ type: "server_tool_use", id, name, input: {} });
const found = (id: string): WireBlock => ({ type: "web_search_tool_result", tool_use_id: id, content: [] });
const text: WireBlock = { type: "text", text: "a" };
const thinking: WireBlock = { type: "thinking", thinking: "", signature: "s" };
const fallback: WireBlock = { type: "fallback" };
const use: WireBlock = { type: "tool_use", id: "t1", name: "f", input: {} };
const fromCode: WireBlock = { ...use, caller: { type: "code_execution_20250825", tool_id: "s1" } };

type Step = "user" | "tool" | readonly WireBlock[];

function toPair(step: Step): readonly [Message, WireMessage] {
  const wire = (role: "user" | "assistant", content: readonly WireBlock[]): WireMessage => ({ role, content });
  if (step === "user") return [{ role: "user", content: "u" }, wire("user", [text])];
  if (step === "tool") return [{ role: "tool", results: [] }, wire("user", [{ type: "tool_result", tool_use_id: "t1" }])];
  return [{ role: "assistant", content: [] }, wire("assistant", step)];
}

const close = (steps: readonly Step[], declares: (name: string) => boolean = () => true): unknown => {
  const pairs = steps.map(toPair);
  const closed = removeRefusedBlocks(
    pairs.map(([message]) => message),
    pairs.map(([, wire]) => wire),
    { declares, hasTool: () => true, takes: () => true },
  );
  return closed.filter(({ role }) => role === "assistant").map(({ content }) => content);
};

it.each<[what: string, steps: readonly Step[], sent: readonly (readonly WireBlock[])[]]>([
  ["keeps a call with its result", [[asks("s1"), found("s1"), text], "user"], [[asks("s1"), found("s1"), text]]],
  ["keeps an open call in a paused message", ["user", [text, asks("s1")]], [[text, asks("s1")]]],
  ["removes an open call before a user message", [[text, asks("s1")], "user"], [[text]]],
  ["removes an open MCP call before a user message", [[text, { ...asks("s1"), type: "mcp_tool_use" }], "user"], [[text]]],
  ["keeps an open call while only results of the run's tools follow", [[asks("s1"), use], "tool"], [[asks("s1"), use]]],
  ["removes an open call if a user message follows the results", [[asks("s1"), use], "tool", "user"], [[use]]],
  [
    "keeps an open call that the next message answers",
    [[asks("s1"), use], "tool", [found("s1"), text], "user"],
    [
      [asks("s1"), use],
      [found("s1"), text],
    ],
  ],
  ["removes an open call that the next message does not answer", [[asks("s1"), use], "tool", [text], "user"], [[use], [text]]],
  ["removes the answer to a removed call", [[asks("s1"), use], "tool", "user", [found("s1"), text], "user"], [[use], [text]]],
  [
    "removes an open call before a fallback, although only results follow",
    [[asks("s1"), fallback, use], "tool"],
    [[fallback, use]],
  ],
  ["removes a result whose call was cut off", ["user", [found("s1"), text], "user"], [[text]]],
  ["removes only the open one of two calls", [[asks("s1"), found("s1"), asks("s2")], "user"], [[asks("s1"), found("s1")]]],
  ["removes thinking that then ends the message", [[text, thinking, asks("s1")], "user"], [[text]]],
  ["removes the link to the server call from a call that its code made", [[asks("s1"), fromCode], "tool", "user"], [[use]]],
])("removeRefusedBlocks %s", (_what, steps, sent) => {
  expect(close(steps)).toEqual(sent);
});

it.each<[what: string, steps: readonly Step[], sent: readonly WireBlock[]]>([
  ["an open call at the end", [[asks("s1"), use], "tool"], [use]],
  ["the results of a tool search", [[asks("s1", "tool_search_tool_bm25"), found("s1"), text], "user"], [text]],
])("removeRefusedBlocks removes %s if the request does not declare the tool", (_what, steps, sent) => {
  expect(close(steps, () => false)).toEqual([sent]);
});

it("removeRefusedBlocks keeps a call with its result if the request does not declare the tool", () => {
  expect(close([[asks("s1"), found("s1")], "user"], () => false)).toEqual([[asks("s1"), found("s1")]]);
});

it("removeRefusedBlocks returns the same shortened message again, because cache marks compare messages by identity", () => {
  const pairs = [toPair([text, asks("s1")]), toPair("user")];
  const once = (): unknown =>
    removeRefusedBlocks(
      pairs.map(([message]) => message),
      pairs.map(([, wire]) => wire),
      { declares: () => true, hasTool: () => true, takes: () => true },
    )[0];
  expect(once()).toBe(once());
});
