import { describe, expect, it } from "vitest";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";
import { ChatServer } from "./chat-server.ts";
import { breakOff, callsOf, lastOf, openPage, type PageChat, settle } from "./page.ts";
import { setUpPayment } from "./payment.ts";
import { type PageMessage, type PagePart, textOf } from "./vendors.ts";

const versions: readonly UIVersion[] = [5, 6, 7];

function open(
  version: UIVersion,
  more: { readonly forgets?: boolean } = {},
): { server: ChatServer; chat: PageChat; ran: string[] } {
  const { ran, run } = setUpPayment();
  const server = new ChatServer({ run, stream: { version }, ...more });
  return { server, chat: openPage({ version, fetch: server.fetch }), ran };
}

function waitingOf(chat: PageChat): string {
  const parts = lastOf(chat).parts;
  const asked = parts.find(({ state }) => state === "approval-requested")?.approval?.id;
  const data = parts.find(({ type }) => type === "data-approval")?.data as { readonly approvalId: string } | undefined;
  const id = asked ?? data?.approvalId;
  if (id === undefined) throw new Error("Nothing waits.");
  return id;
}

type Kind = "approve" | "deny";

async function decide(chat: PageChat, kind: Kind): Promise<void> {
  const id = waitingOf(chat);
  if (chat.addToolApprovalResponse === undefined) await chat.sendMessage(undefined, { body: { answers: { [id]: { kind } } } });
  else await chat.addToolApprovalResponse({ id, approved: kind === "approve" });
  await settle(chat);
}

/** Removes decisions, because only the page that made the decisions shows them. */
const withoutApproval = (message: PageMessage): object => ({
  ...message,
  parts: message.parts.filter(({ type }) => type !== "data-approval").map(({ approval: _, ...part }: PagePart) => part),
});

describe.each(versions)("an AI SDK %i UI", (version) => {
  it("continues the message after an approval without repeating text", async () => {
    const { chat, ran, server } = open(version);
    await chat.sendMessage({ text: "Buy tea." });
    expect(lastOf(chat)).toMatchObject({
      id: "chat/1",
      metadata: { status: "suspended", reason: { kind: "approval-required" } },
    });
    expect(ran).toEqual(["look tea"]);
    await decide(chat, "approve");
    expect(chat.error).toBeUndefined();
    expect(chat.status).toBe("ready");
    expect(chat.messages).toHaveLength(2);
    expect(textOf(lastOf(chat))).toBe("One moment.Paying.It is paid.");
    expect(callsOf(chat).map(({ type, state, output }) => [type, state, output])).toEqual([
      ["tool-look", "output-available", { price: 5 }],
      ["tool-pay", "output-available", { paid: 5 }],
    ]);
    expect(lastOf(chat).metadata).toMatchObject({ status: "completed", reason: { kind: "answered" } });
    expect(ran).toEqual(["look tea", "pay 5"]);
    expect(server.requests).toHaveLength(2);
  });

  it("denies a call, which then does not run", async () => {
    const { chat, ran } = open(version);
    await chat.sendMessage({ text: "Buy tea." });
    await decide(chat, "deny");
    expect(callsOf(chat).at(-1)?.state).toBe(version === 5 ? "output-error" : "output-denied");
    expect(textOf(lastOf(chat))).toBe("One moment.Paying.It is paid.");
    expect(ran).toEqual(["look tea"]);
  });

  it("sends a call's edited arguments, which the server validates", async () => {
    const { chat, ran } = open(version);
    await chat.sendMessage({ text: "Buy tea." });
    await chat.sendMessage(undefined, { body: { answers: { [waitingOf(chat)]: { kind: "modify", args: { amount: 7 } } } } });
    await settle(chat);
    expect(ran).toEqual(["look tea", "pay 7"]);
    expect(callsOf(chat).map(({ input }) => input)).toEqual([{ name: "tea" }, { amount: 7 }]);
    const bad = open(version);
    await bad.chat.sendMessage({ text: "Buy tea." });
    const args = { amount: 101 };
    await bad.chat.sendMessage(undefined, { body: { answers: { [waitingOf(bad.chat)]: { kind: "modify", args } } } });
    await settle(bad.chat);
    expect(bad.ran).toEqual(["look tea"]);
    expect(callsOf(bad.chat).at(-1)).toMatchObject({ state: "output-error", errorText: "The arguments do not fit the tool." });
  });

  it.each([false, true])(
    "shows the same message after a reload at any chunk (the server keeps only the journal: %s)",
    // Tries every sixth chunk. Together, the tests of all versions try every chunk.
    async (forgets) => {
      const whole = open(version);
      await whole.chat.sendMessage({ text: "Buy tea." });
      await decide(whole.chat, "approve");
      const expected = withoutApproval(lastOf(whole.chat));
      const counted = open(version);
      const counting = breakOff(counted.server.fetch, Number.POSITIVE_INFINITY);
      const page = openPage({ version, fetch: counting.fetch });
      await page.sendMessage({ text: "Buy tea." });
      await decide(page, "approve");
      expect(withoutApproval(lastOf(page))).toEqual(expected);
      expect(counting.count()).toBeGreaterThan(30);
      const first = 2 * versions.indexOf(version) + (forgets ? 1 : 0);
      for (let lines = first; lines < counting.count(); lines += 2 * versions.length) {
        const { server, ran } = open(version, { forgets });
        const broken = openPage({ version, fetch: breakOff(server.fetch, lines).fetch });
        await broken.sendMessage({ text: "Buy tea." });
        if (broken.status === "ready") await decide(broken, "approve");
        expect(broken.status).toBe("error");
        const reloaded = openPage({ version, fetch: server.fetch, messages: broken.messages.slice(0, 1) });
        await reloaded.resumeStream();
        if (server.last.result?.status === "suspended") await decide(reloaded, "approve");
        expect({ lines, ...withoutApproval(lastOf(reloaded)) }).toEqual({ lines, ...expected });
        expect(reloaded.messages).toHaveLength(2);
        expect(ran).toEqual(["look tea", "pay 5"]);
      }
    },
  );
});

// AI SDK 5 appends the repeated events to the part of the message that it has.
it.each<UIVersion>([6, 7])("an AI SDK %i UI goes on with a message that was cut off at any chunk", async (version) => {
  const whole = open(version);
  const counting = breakOff(whole.server.fetch, Number.POSITIVE_INFINITY);
  const expected = openPage({ version, fetch: counting.fetch });
  await expected.sendMessage({ text: "Buy tea." });
  for (let lines = 0; lines < counting.count(); lines += 1) {
    const { server } = open(version);
    const cut = breakOff(server.fetch, lines);
    const chat = openPage({
      version,
      fetch: async (url, init) => (init?.method === "GET" ? server.fetch(url, init) : cut.fetch(url, init)),
    });
    await chat.sendMessage({ text: "Buy tea." });
    expect(chat.status).toBe("error");
    await chat.resumeStream();
    expect({ lines, messages: chat.messages.length, ...lastOf(chat) }).toEqual({ lines, messages: 2, ...lastOf(expected) });
  }
});
