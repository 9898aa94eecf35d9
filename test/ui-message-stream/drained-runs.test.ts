import { afterEach, describe, expect, it } from "vitest";
import { memoryConversationStore } from "turnwright/conversation";
import { createRunHost, type HostedLoopOptions, type RunHost } from "turnwright/host";
import { readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";
import { callsOf, lastOf, openPage } from "./page.ts";
import { textOf } from "./vendors.ts";

const hosts: RunHost[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

/** A server with the routes of docs/guides/ui-message-stream.md. `restart` drains its runs. */
function serve(version: UIVersion, needsApproval: boolean) {
  const ran: string[] = [];
  const store = memoryConversationStore();
  const open = (): RunHost => {
    const host = createRunHost({ store });
    hosts.push(host);
    return host;
  };
  let host = open();
  let closed: Promise<void> | undefined;
  const restart = async (): Promise<void> => {
    await (closed ?? host.close());
    host = open();
  };
  const provider = createMockProvider(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? text("It is paid.") : [text("I pay."), toolCall("pay")],
  );
  const pay = {
    name: "pay",
    description: "Pays",
    inputSchema: { type: "object" },
    needsApproval,
    execute: () => {
      ran.push("pay");
      if (!needsApproval) closed = host.close();
      return "paid";
    },
  };
  const run: HostedLoopOptions = { provider, tools: [pay] };
  const fetch = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
    const id = "chat";
    if (init.method === "GET") {
      if (host.join(id) === undefined) await host.resume(id, run);
      return toUIMessageStreamResponse(host.join(id), { version });
    }
    const { message, answers } = await readUIChatRequest(new Request("http://chat.test", init));
    const answer = message === undefined ? await host.resume(id, { ...run, answers }) : await host.start(id, { ...run, message });
    if (answer.kind !== "started") return new Response(answer.kind, { status: 409 });
    return toUIMessageStreamResponse(answer.join(), { version, from: message === undefined ? "live" : "start" });
  };
  return { fetch, restart, ran, provider };
}

describe.each<UIVersion>([5, 6, 7])("an AI SDK %i UI", (version) => {
  it("continues an answer after its run was drained", async () => {
    const { fetch, restart, ran } = serve(version, false);
    const chat = openPage({ version, fetch });
    await chat.sendMessage({ text: "Pay." });
    expect(lastOf(chat)).toMatchObject({ id: "chat/1", metadata: { status: "suspended", reason: { kind: "drained" } } });
    await restart();
    await chat.resumeStream();
    expect(chat.messages).toHaveLength(2);
    expect(textOf(lastOf(chat))).toBe("I pay.It is paid.");
    expect(callsOf(chat)).toHaveLength(1);
    expect(lastOf(chat).metadata).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["pay"]);
    await chat.resumeStream();
    expect([chat.status, textOf(lastOf(chat))]).toEqual(["ready", "I pay.It is paid."]);
  });

  it("shows a call that waits again after a restart, without a request to the model", async () => {
    const { fetch, restart, ran, provider } = serve(version, true);
    await openPage({ version, fetch }).sendMessage({ text: "Pay." });
    await restart();
    const reloaded = openPage({ version, fetch, messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "Pay." }] }] });
    await reloaded.resumeStream();
    expect(lastOf(reloaded).metadata).toMatchObject({ reason: { kind: "approval-required" } });
    expect([provider.calls, ran]).toEqual([1, []]);
    await reloaded.resumeStream();
    expect([reloaded.messages.length, textOf(lastOf(reloaded))]).toEqual([2, "I pay."]);
  });
});
