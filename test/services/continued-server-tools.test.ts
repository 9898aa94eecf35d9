// A transcript in which the service ran tools or wrote a summary goes to a provider without these tools.

import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { type LoopResult, type Message, type Provider, runToolLoop } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { compactMessages } from "turnwright/middleware";
import { finish, type MockMessage, providerMetadata, type StrictService, strictService, text } from "turnwright/testing";

const user: Message = { role: "user", content: "Look." };
const searchTool = { type: "web_search_20250305", name: "web_search" };
const search = providerMetadata({ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Oslo" } });
const found = providerMetadata({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] });
const summary = providerMetadata({ type: "compaction", content: "<summary>So.</summary>", encrypted_content: "opaque" });

const connect = ({ fetch }: StrictService, options: Partial<AnthropicMessagesOptions> = {}): Provider =>
  anthropicMessages({ client: new Anthropic({ apiKey: "test", maxRetries: 0, fetch }), model: "claude-opus-5", ...options });

/** The result of a run with the tools of the service. It ends at its first answer. */
function play(answer: MockMessage): Promise<LoopResult> {
  const provider = connect(strictService("anthropic", { answers: [answer] }), { serverTools: [searchTool], compaction: true });
  const middleware = [compactMessages({ when: 60_000, keep: 100 })];
  return runToolLoop({ provider, messages: [user], middleware, limits: { maxPauses: 0 } });
}

const typesOf = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content.map(({ type }: { readonly type: unknown }) => type) : [content];

/** The roles and types of blocks that the service got. It has refused nothing. */
async function send(messages: readonly Message[], options: Partial<AnthropicMessagesOptions> = {}): Promise<readonly unknown[]> {
  const service = strictService("anthropic");
  await runToolLoop({ provider: connect(service, options), messages });
  expect(service.refusals.map(({ message }) => message)).toEqual([]);
  const sent = service.requests[0]?.body["messages"] as readonly { readonly role: string; readonly content: unknown }[];
  return sent.map(({ role, content }) => [role, ...typesOf(content)]);
}

describe("anthropicMessages: a transcript that contains the service's own tool calls", () => {
  it("is sent without a summary if the request lacks the required beta", async () => {
    const { messages } = await play([summary, text("Done.")]);
    expect(await send([...messages, user])).toEqual([
      ["user", "text"],
      ["assistant", "text"],
      ["user", "text"],
    ]);
    const [, answer] = await send([...messages, user], { betas: ["compact-2026-01-12"] });
    expect(answer).toEqual(["assistant", "compaction", "text"]);
  });

  it.each<[title: string, answer: MockMessage, sent: readonly string[]]>([
    ["a summary", [summary, text("Done.")], ["compaction", "text"]],
    ["a search", [search, found, text("Done.")], ["server_tool_use", "web_search_tool_result", "text"]],
  ])("is not treated as a message to continue if it ends with text after %s", async (_title, answer, sent) => {
    const { messages } = await play(answer);
    const options = { betas: ["compact-2026-01-12"], serverTools: [searchTool] };
    expect(await send(messages, options)).toEqual([
      ["user", "text"],
      ["assistant", ...sent],
      ["user", "text"],
    ]);
  });

  it("is continued after the service pauses it, but only if the request still has the tool", async () => {
    const { messages } = await play([text("So."), search, finish("paused")]);
    expect(await send(messages, { serverTools: [searchTool] })).toEqual([
      ["user", "text"],
      ["assistant", "text", "server_tool_use"],
    ]);
    expect(await send(messages)).toEqual([
      ["user", "text"],
      ["assistant", "text"],
      ["user", "text"],
    ]);
  });
});
