import { expect, it } from "vitest";
import { ask, defer, defineTool, type Tool } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { ChatServer } from "./chat-server.ts";
import { callsOf, openPage, settle } from "./page.ts";
import { vendors } from "./vendors.ts";

const inputSchema = { type: "object" } as const;
const render = defineTool({
  name: "render",
  description: "Renders",
  inputSchema,
  needsApproval: true,
  execute: () => defer(),
});
const asking = defineTool({
  name: "asking",
  description: "Asks the user",
  inputSchema,
  needsApproval: true,
  durable: true,
  execute: (_args, context) => ask(context, { question: "Which city?", fromPage: true }),
});
const waiting = defineTool({
  name: "waiting",
  description: "Waits for the user",
  inputSchema,
  needsApproval: true,
  durable: true,
  execute: (_args, { wait }) => wait("city", {}, { fromPage: true }),
});
const locate = defineTool({ name: "locate", description: "Finds the user", inputSchema, needsApproval: true });

function open(version: 6 | 7, tool: Tool) {
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall(tool.name)] : text("Done.")));
  const server = new ChatServer({ run: { provider, tools: [tool] }, stream: { version } });
  const fetch: typeof server.fetch = async (url, init) => {
    // Ends the test if the page sends its approval in an endless loop.
    if (server.requests.length > 5) throw new Error("The page sends too many requests.");
    return server.fetch(url, init);
  };
  return { server, page: openPage({ version, fetch }) };
}

const withApprovals = vendors.flatMap(({ version }) => (version === 5 ? [] : [{ version }]));

it.each(withApprovals)(
  "an AI SDK $version UI sends an approval once, even if the approved tool defers the result",
  async ({ version }) => {
    const { server, page } = open(version, render);
    await page.sendMessage({ text: "Render." });
    const [asked] = callsOf(page);
    expect(asked?.state).toBe("approval-requested");
    await page.addToolApprovalResponse?.({ id: asked?.approval?.id ?? "", approved: true });
    await settle(page);
    expect(page.error).toBeUndefined();
    expect(server.requests).toHaveLength(2);
    expect(server.last.result?.reason.kind).toBe("result-required");
    expect(callsOf(page)).toMatchObject([{ state: "input-available", providerExecuted: true }]);
    await server.deliver({ "call_i0_0#2": { kind: "result", result: "film.mp4" } });
    await page.resumeStream();
    await settle(page);
    expect(callsOf(page)).toMatchObject([{ state: "output-available", output: "film.mp4" }]);
  },
);

it.each(withApprovals)(
  "an AI SDK $version UI adds the result of an approved call if the tool has no execute",
  async ({ version }) => {
    const { server, page } = open(version, locate);
    await page.sendMessage({ text: "Where am I?" });
    await page.addToolApprovalResponse?.({ id: callsOf(page)[0]?.approval?.id ?? "", approved: true });
    await settle(page);
    const [call] = callsOf(page);
    expect([call?.state, server.requests.length]).toEqual(["input-available", 2]);
    await page.addToolOutput({ tool: "locate", toolCallId: call?.toolCallId ?? "", output: { city: "Bern" } });
    await page.sendMessage();
    await settle(page);
    expect(server.last.result?.text).toBe("Done.");
    expect(callsOf(page)).toMatchObject([{ state: "output-available", output: { city: "Bern" } }]);
  },
);

it.each(withApprovals.flatMap(({ version }) => [asking, waiting].map((tool) => ({ version, tool, name: tool.name }))))(
  "an AI SDK $version UI sends an approval once, even if the approved tool is $name for an answer",
  async ({ version, tool }) => {
    const { server, page } = open(version, tool);
    await page.sendMessage({ text: "Where am I?" });
    await page.addToolApprovalResponse?.({ id: callsOf(page)[0]?.approval?.id ?? "", approved: true });
    await settle(page);
    expect([page.error, server.requests.length, callsOf(page)[0]?.state]).toEqual([undefined, 2, "input-available"]);
    const answers = { "chat/1:call_i0_0#2": { kind: "result", result: "Bern" } };
    await page.sendMessage(undefined, { body: { answers } });
    await settle(page);
    expect(server.last.result?.text).toBe("Done.");
    expect(callsOf(page)).toMatchObject([{ state: "output-available", output: "Bern" }]);
  },
);
