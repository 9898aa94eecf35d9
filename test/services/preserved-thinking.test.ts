// Thinking and reasoning that are only valid after an unchanged prefix.

import { describe, expect, it } from "vitest";
import { defineTool, prepareIteration, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { reasoning, type StrictService, strictService, text, toolCall } from "turnwright/testing";
import { preservedThinkingRule } from "../../src/testing/strict/prefix.ts";
import { strictRows } from "./connect-strict.ts";

interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

interface Body {
  readonly system: string;
  readonly tools: readonly object[];
  readonly messages: readonly Message[];
}

const beta = "thinking-binding-controls-2026-08-01";
const tool = { name: "look", input_schema: { type: "object", properties: {} } };

async function send(
  service: StrictService,
  body: Body,
  more: object = {},
): Promise<{ readonly status: number; readonly answer: Answer }> {
  const headers = { "anthropic-version": "2026-10-21", "anthropic-beta": beta };
  const sent = JSON.stringify({ model: "claude-opus-5-5", max_tokens: 4_000, ...body, ...more });
  const response = await service.fetch("https://service.test/v1/messages", { method: "POST", headers, body: sent });
  return { status: response.status, answer: (await response.json()) as Answer };
}

interface Answer {
  readonly content: readonly Block[];
  readonly input_transformations?: readonly object[];
  readonly error?: { readonly message: string };
}

/** Two rounds with thinking, and one more user message. */
async function talk(): Promise<Body> {
  const service = strictService("anthropic-preserved-thinking", {
    answers: [
      [reasoning("Hm."), toolCall("look")],
      [reasoning("Ah."), text("Seen.")],
    ],
  });
  let body: Body = {
    system: "Be brief.",
    tools: [tool],
    messages: [{ role: "user", content: [{ type: "text", text: "Look." }] }],
  };
  for (const next of ["result", "text"]) {
    const { answer } = await send(service, body);
    const id = answer.content.find(({ type }) => type === "tool_use")?.["id"];
    const block: Block =
      next === "result" ? { type: "tool_result", tool_use_id: id, content: "seen" } : { type: "text", text: "And?" };
    body = {
      ...body,
      messages: [...body.messages, { role: "assistant", content: answer.content }, { role: "user", content: [block] }],
    };
  }
  return body;
}

const change = (body: Body, at: number, edit: (content: readonly Block[]) => readonly Block[]): Body => ({
  ...body,
  messages: body.messages.map((message, index) => (index === at ? { ...message, content: edit(message.content) } : message)),
});
const withoutThinking = (content: readonly Block[]): readonly Block[] => content.filter(({ type }) => type !== "thinking");

describe("strictService: preserved thinking", () => {
  it.each<[title: string, edit: (body: Body) => Body]>([
    ["nothing is changed", (body) => body],
    ["leading thinking is left out", (body) => change(body, 1, withoutThinking)],
    [
      "a cache mark is added",
      (body) => change(body, 0, ([block]) => [{ type: "text", ...block, cache_control: { type: "ephemeral" } }]),
    ],
    ["a deferred tool is added", (body) => ({ ...body, tools: [tool, { ...tool, name: "other", defer_loading: true }] })],
  ])("is accepted if %s", async (_title, edit) => {
    const service = strictService("anthropic-preserved-thinking");
    expect(await send(service, edit(await talk()))).toMatchObject({ status: 200, answer: { input_transformations: [] } });
  });

  it.each<[title: string, edit: (body: Body) => Body, at: string]>([
    ["the system prompt is changed", (body) => ({ ...body, system: "Be kind." }), "messages.1.content.0"],
    ["a tool is added", (body) => ({ ...body, tools: [tool, { ...tool, name: "other" }] }), "messages.1.content.0"],
    ["an earlier message is changed", (body) => change(body, 0, () => [{ type: "text", text: "See." }]), "messages.1.content.0"],
    [
      "a result is changed",
      (body) => change(body, 2, ([block]) => [{ type: "", ...block, content: "(left out)" }]),
      "messages.3.content.0",
    ],
  ])("is refused if %s, unless the request asks to drop it", async (_title, edit, at) => {
    const service = strictService("anthropic-preserved-thinking");
    const body = edit(await talk());
    const { status, answer } = await send(service, body);
    expect([status, service.refusals[0]?.rule]).toEqual([400, preservedThinkingRule.rule]);
    expect(answer.error?.message.startsWith(`${at}: Invalid \`signature\` in \`thinking\` block.`)).toBe(true);

    const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const dropped = await send(service, body, { thinking });
    expect(dropped.status).toBe(200);
    expect(dropped.answer.input_transformations).toContainEqual({
      type: "thinking_dropped",
      path: at,
      reason: "prefix_binding_mismatch",
    });
  });

  it("is refused if a block in the middle is missing", async () => {
    const service = strictService("anthropic-preserved-thinking", { answers: [[reasoning("So."), text("Yes.")]] });
    const body = await talk();
    const { answer } = await send(service, body);
    const messages: readonly Message[] = [
      ...body.messages,
      { role: "assistant", content: answer.content },
      { role: "user", content: [{ type: "text", text: "And then?" }] },
    ];
    expect((await send(service, { ...body, messages })).status).toBe(200);
    expect((await send(service, change({ ...body, messages }, 3, withoutThinking))).answer.error?.message).toContain(
      "messages.5.content.0",
    );
  });

  it("is dropped and reported if the run's system text changes, and the run still completes", async () => {
    const look = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object", properties: {} },
      execute: () => "seen",
    });
    const service = strictService("anthropic-preserved-thinking", {
      answers: [[reasoning("Hm."), toolCall("look")], text("Done.")],
    });
    const row = strictRows.find(({ kind }) => kind === "anthropic-preserved-thinking");
    const result = await runToolLoop({
      provider:
        row?.connect(service) ??
        anthropicMessages({ client: { messages: { create: () => Promise.reject(new Error()) } }, model: "m" }),
      tools: [look],
      messages: [{ role: "user", content: "Look." }],
      middleware: [prepareIteration(({ iteration }) => ({ system: `Iteration ${iteration}.` }))],
    });
    expect([result.status, result.text, service.refusals]).toEqual(["completed", "Done.", []]);
    expect(JSON.stringify(result.streamResults)).toContain("prefix_binding_mismatch");
  });
});

it("strictService: GPT-6.2 reports reasoning that it removed after the prefix changed", async () => {
  const service = strictService("openai-responses", { answers: [[reasoning("Hm."), toolCall("look", {}, { id: "call_1" })]] });
  const user = { role: "user", content: "Look." };
  const look = { type: "function", name: "look", parameters: { type: "object", properties: {} }, strict: false };
  const ask = async (input: readonly object[], tools: readonly object[]): Promise<{ readonly output: readonly object[] }> => {
    const body = JSON.stringify({ model: "gpt-6.2-sol", store: false, input, tools });
    const response = await service.fetch("https://service.test/v1/responses", { method: "POST", body });
    return (await response.json()) as { readonly output: readonly object[] };
  };
  const first = await ask([user], [look]);
  const input = [user, ...first.output, { type: "function_call_output", call_id: "call_1", output: "seen" }];
  expect(await ask(input, [look])).toMatchObject({ input_transformations: [] });
  expect(await ask(input, [look, { ...look, name: "other" }])).toMatchObject({
    input_transformations: [{ type: "reasoning", action: "removed", reason: "prefix_mismatch" }],
  });
});
