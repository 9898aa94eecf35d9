import { afterEach, describe, expect, it } from "vitest";
import type { AGUIVersion } from "../../src/ag-ui/ag-ui-event.ts";
import { sharedStore } from "../host/stage.ts";
import { setUpPayment } from "../ui-message-stream/payment.ts";
import { openAgent, type PageAgent, readMessages, resultsOf, textOf, versions } from "./clients.ts";
import { checkEvents } from "./mapping-stage.ts";
import { type PageServer, readSent, type SentEvent, serve } from "./page-server.ts";

const servers: PageServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function buy(version: AGUIVersion): Promise<{ server: PageServer; page: PageAgent; ran: string[] }> {
  const { ran, run } = setUpPayment();
  const server = await serve({ run, version });
  servers.push(server);
  const page = openAgent(version, { url: server.url, threadId: `tea-${version}-${servers.length}` });
  page.addMessage({ id: "u1", role: "user", content: "Buy tea." });
  await page.runAgent();
  return { server, page, ran };
}

const answer = (page: PageAgent, payload: unknown, status: "resolved" | "cancelled" = "resolved") =>
  page.runAgent({
    resume: page.pendingInterrupts.map(({ id }) => ({ interruptId: id, status, ...(payload !== undefined && { payload }) })),
  });

describe.each(versions)("an AG-UI %s client", (version) => {
  it("receives the rest of the run after an approval, without repeated text", async () => {
    const { page, ran } = await buy(version);
    expect(page.pendingInterrupts).toMatchObject([{ reason: "approval_required" }]);
    expect(textOf(page.messages)).toBe("One moment.Paying.");
    await answer(page, { approved: true });
    expect([textOf(page.messages), page.pendingInterrupts]).toEqual(["One moment.Paying.It is paid.", []]);
    expect([...resultsOf(page.messages).values()]).toEqual(['{"price":5}', '{"paid":5}']);
    expect(ran).toEqual(["look tea", "pay 5"]);
  });

  it.each([
    ["approved: false", { approved: false, reason: "Too much." }],
    ["no payload", undefined],
    ['approved: "true"', { approved: "true" }],
  ])("denies a call if its answer to the interrupt has %s", async (_, payload) => {
    const { server, page, ran } = await buy(version);
    await answer(page, payload);
    expect([...resultsOf(page.messages).values()].at(-1)).toBe("The call was denied.");
    expect(ran).toEqual(["look tea"]);
    expect((await server.host.status(page.threadId))?.status).toBe("completed");
  });

  it("denies a call by canceling the interrupt, whatever the payload says", async () => {
    const { page, ran } = await buy(version);
    await answer(page, { approved: true }, "cancelled");
    expect(ran).toEqual(["look tea"]);
  });

  it("sends a call's edited arguments, which the server validates", async () => {
    const { page, ran } = await buy(version);
    await answer(page, { approved: true, args: { amount: 3 } });
    expect(ran).toEqual(["look tea", "pay 3"]);
    const other = await buy(version);
    await answer(other.page, { approved: true, args: { amount: 500 } });
    expect(other.ran).toEqual(["look tea"]);
  });

  it("sends a second message, which the server adds to the stored history of the thread", async () => {
    const { server, page } = await buy(version);
    await answer(page, { approved: true });
    page.messages = page.messages.slice(-1);
    page.addMessage({ id: "u2", role: "user", content: "And now?" });
    await page.runAgent();
    const messages = (await server.host.status(page.threadId))?.messages ?? [];
    expect(messages.flatMap((one) => (one.role === "user" ? [one.content] : []))).toEqual(["Buy tea.", "And now?"]);
  });

  it("ends up with the same messages if its page is reloaded after any event", async () => {
    const { run } = setUpPayment();
    const store = sharedStore();
    const server = await serve({ run, version, store });
    servers.push(server);
    const threadId = `reload-${version}`;
    const init = (body: object, headers: object = {}): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ threadId, runId: "r1", messages: [], ...body }),
    });
    const asked = init({ messages: [{ id: "u", role: "user", content: "Buy tea." }] });
    const whole = await readSent(await fetch(server.url, asked));
    checkEvents(whole.map(({ event }) => event) as never);
    const expected = await readMessages(whole.map(({ event }) => event) as never, version);
    expect(whole.length).toBeGreaterThan(25);
    for (const [index, { id = "" }] of whole.entries()) {
      const response = await fetch(server.url, { ...asked, headers: { ...asked.headers, "last-event-id": id } });
      const rest = await readSent(response);
      const joined = [...whole.slice(0, index + 1), ...rest];
      expect(joinDeltas(joined)).toEqual(joinDeltas(whole));
      expect(await readMessages(joined.map(({ event }) => event) as never, version)).toEqual(expected);
    }
    const runId = encodeURIComponent(`${threadId}/1`);
    const joined = await readSent(await fetch(`${server.url}?offset=-1&runId=${runId}`));
    expect(textOf(await readMessages(joined.map(({ event }) => event) as never, version))).toBe(textOf(expected));
    const other = await serve({ run, version, store });
    servers.push(other);
    const resume = [{ interruptId: `${threadId}/1:call_i1_0`, status: "resolved", payload: { approved: true } }];
    const live = await readSent(await fetch(other.url, init({ resume })));
    const after = await readMessages(live.map(({ event }) => event) as never, version, expected);
    expect(textOf(after)).toBe("One moment.Paying.It is paid.");
  });
});

function joinDeltas(sent: readonly SentEvent[]): readonly unknown[] {
  const joined: SentEvent["event"][] = [];
  for (const { event } of sent) {
    const last = joined.at(-1);
    const isSame = event.delta !== undefined && last?.type === event.type && last["messageId"] === event["messageId"];
    if (isSame && last?.["toolCallId"] === event["toolCallId"])
      joined.splice(-1, 1, { ...last, delta: `${last?.delta}${event.delta}` });
    else joined.push(event);
  }
  return joined;
}
