import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { afterEach, describe, expect, it } from "vitest";
import { createMockProvider, stall, text } from "turnwright/testing";
import { setUpPayment } from "../ui-message-stream/payment.ts";
import { type PageServer, readSent, serve } from "./page-server.ts";

const servers: PageServer[] = [];
const clients: ChatClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.dispose();
  for (const server of servers.splice(0)) await server.close();
});

async function start(run: Parameters<typeof serve>[0]["run"]): Promise<PageServer> {
  const server = await serve({ run, version: "0.0" });
  servers.push(server);
  return server;
}

function open({ url }: PageServer, threadId: string, loads = false) {
  const errors: Error[] = [];
  let notify = (): void => {};
  const client: ChatClient = new ChatClient({
    connection: fetchServerSentEvents(url, { reconnect: { delayMs: 1 } }),
    threadId,
    ...(loads && { persistence: true as const }),
    onError: (error: Error) => void errors.push(error),
    onMessagesChange: () => notify(),
    onInterruptStateChange: () => notify(),
    onLoadingChange: () => notify(),
  } as ConstructorParameters<typeof ChatClient>[0]);
  clients.push(client);
  client.attach();
  const until = (isReached: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      notify = () => {
        if (isReached()) resolve();
      };
      notify();
    });
  return { client, errors, until };
}

const textOf = (client: ChatClient): string =>
  client
    .getMessages()
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" ? [part.content] : []))
    .join("");

const callsOf = (client: ChatClient) =>
  client
    .getMessages()
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "tool-call" ? [{ id: part.id, name: part.name, args: part.arguments }] : []));

async function decide(client: ChatClient, id: string, approved: boolean): Promise<void> {
  await client.addToolApprovalResponse({ id, approved });
}

describe("TanStack AI's AG-UI client", () => {
  it("shows a run and approves a call", async () => {
    const { ran, run } = setUpPayment();
    const { client, errors, until } = open(await start(run), "tan-1");
    await client.sendMessage("Buy tea.");
    expect(textOf(client)).toBe("One moment.Paying.");
    expect(client.getInterrupts()).toMatchObject([{ id: "tan-1/1:call_i1_0", reason: "approval_required", canResolve: true }]);
    expect(callsOf(client)).toEqual([
      { id: "tan-1/1:call_i0_0", name: "look", args: '{"name":"tea"}' },
      { id: "tan-1/1:call_i1_0", name: "pay", args: '{"amount":5}' },
    ]);
    await decide(client, "tan-1/1:call_i1_0", true);
    await until(() => textOf(client).endsWith("paid."));
    expect([textOf(client), ran, errors]).toEqual(["One moment.Paying.It is paid.", ["look tea", "pay 5"], []]);
  });

  it("reconnects after each broken connection and shows all text once", async () => {
    const { run } = setUpPayment();
    for (const cutAfter of [1, 2, 3, 5, 8]) {
      const server = await start(run);
      server.cutAfter = cutAfter;
      const { client, errors } = open(server, `tan-cut-${cutAfter}`);
      await client.sendMessage("Buy tea.");
      expect([cutAfter, textOf(client), errors]).toEqual([cutAfter, "One moment.Paying.", []]);
      expect(callsOf(client)).toHaveLength(2);
      expect(server.requests.length).toBeGreaterThan(2);
    }
  });

  it('receives the error "restarted" if the last event came from another server process', async () => {
    const { run } = setUpPayment();
    const server = await start(run);
    await open(server, "tan-4").client.sendMessage("Buy tea.");
    const url = `${server.url}?runId=${encodeURIComponent("tan-4/1")}`;
    const headers = { "last-event-id": "abc-0.3.0" };
    const sent = await readSent(await fetch(url, { headers }));
    expect(sent.map(({ event }) => event)).toEqual([{ type: "RUN_ERROR", message: "An error occurred.", code: "restarted" }]);
    expect((await fetch(`${server.url}?runId=tan-9/1`)).status).toBe(204);
  });

  it("approves a call in a loaded thread whose run is waiting", async () => {
    const { ran, run } = setUpPayment();
    const server = await start(run);
    await open(server, "tan-2").client.sendMessage("Buy tea.");
    const { client, until } = open(server, "tan-2", true);
    await until(() => client.getInterrupts().length > 0);
    expect([textOf(client), callsOf(client).length]).toEqual(["One moment.Paying.", 2]);
    await decide(client, "tan-2/1:call_i1_0", false);
    await until(() => textOf(client).endsWith("paid."));
    expect(ran).toEqual(["look tea"]);
  });

  it("joins the live run of a loaded thread", async () => {
    const server = await start({ provider: createMockProvider([[text("One two.", { chunks: 4 }), stall()]]) });
    const first = open(server, "tan-3");
    void first.client.sendMessage("Go.");
    await first.until(() => textOf(first.client) === "One two.");
    const second = open(server, "tan-3", true);
    await second.until(() => textOf(second.client) === "One two.");
    expect(second.client.getMessages().map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(server.host.stop("tan-3")).toBe("accepted");
  });
});
