// A process dies while some calls of a message have ended and other calls have not. Whatever goes on from the journal must tell the
// model which calls have run, because the model would otherwise repeat them.

import { describe, expect, it } from "vitest";
import { memoryJournal, type Message, type Tool } from "turnwright";
import { type Conversation, createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore, type DurableStore, type Fate } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";

interface Scene {
  readonly store: DurableStore;
  readonly tools: readonly Tool[];
  /** The calls that have run, in order. */
  readonly ran: string[];
  readonly provider: MockProvider;
}

function createScene(sequential: boolean): Scene {
  const ran: string[] = [];
  const work = (name: string): Tool => tool(name, () => ran.push(name), { sequential });
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("pay"), toolCall("look"), toolCall("slow")] : text("Done."),
  );
  return { store: createDurableStore(), tools: [work("pay"), work("look"), work("slow")], ran, provider };
}

const outcomesIn = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.results.map(({ name, outcome }) => `${name} ${outcome}`) : [],
  );

const asRead = ({ provider }: Scene): readonly string[] => outcomesIn(provider.requests.at(-1)?.messages ?? []);

const whileSlow: Fate = { within: "i0/call/2/slow/outcome" };
const expected = ["pay completed", "look completed", "slow interrupted"];

/** Sends a message in a process that dies, and returns the conversation of the next process. */
async function dieInConversation({ store, tools, provider }: Scene, fate: Fate): Promise<Conversation> {
  const chats = memoryConversationStore();
  const ids = new Set<string>();
  const open = (life?: Fate): Conversation =>
    createConversation({
      id: "chat",
      store: chats,
      options: { provider, tools },
      journal: (runId) => (ids.add(runId).size === 1 ? store.open(life) : memoryJournal()),
    });
  await expect(open(fate).send("Pay.")).rejects.toThrow("died");
  return open();
}

describe("calls in a message that was unfinished when the process died", () => {
  it("appear in inspectJournal(...).messages if they have finished", async () => {
    const scene = createScene(true);
    await dieInConversation(scene, whileSlow);
    const { messages, pendingCalls } = await inspectJournal(scene.store.open());
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(outcomesIn(messages)).toEqual(["pay completed", "look completed"]);
    expect(pendingCalls.map(({ name, state }) => `${name} ${state}`)).toEqual(["slow may-have-run"]);
  });

  it("are kept by conversation.send()", async () => {
    const scene = createScene(true);
    await (await dieInConversation(scene, whileSlow)).send("And now?");
    expect([asRead(scene), scene.ran]).toEqual([expected, ["pay", "look", "slow"]]);
  });

  it("are kept by conversation.fork()", async () => {
    const scene = createScene(true);
    const fork = await (await dieInConversation(scene, whileSlow)).fork("copy");
    expect(outcomesIn(await fork.messages())).toEqual(expected);
  });

  it("are kept by host.start()", async () => {
    const scene = createScene(true);
    const { store, tools, provider } = scene;
    const memory = memoryConversationStore();
    const hostWith = (fate?: Fate) =>
      createRunHost({
        store: { ...memory, journal: (runId) => (runId === "cut-off-calls/1" ? store.open(fate) : memoryJournal()) },
      });
    const dying = await hostWith(whileSlow).start("cut-off-calls", { provider, tools, message: "Pay." });
    await expect(dying.kind === "started" ? dying.result : undefined).rejects.toThrow("died");
    const next = await hostWith().start("cut-off-calls", { provider, tools, message: "And now?" });
    if (next.kind === "started") await next.result;
    expect([asRead(scene), scene.ran]).toEqual([expected, ["pay", "look", "slow"]]);
  });

  it.for([true, false])(
    'never have the outcome "not-run" if they ran, whenever the process dies (sequential: %s)',
    async (sequential) => {
      let seen = 0;
      for (let afterRecords = 3; afterRecords < 12; afterRecords += 1) {
        const scene = createScene(sequential);
        const conversation = await dieInConversation(scene, { afterRecords }).catch(() => undefined);
        if (conversation === undefined) break;
        const ran = [...scene.ran];
        await conversation.send("And now?");
        const outcomes = asRead(scene);
        for (const name of ran) expect(outcomes).not.toContain(`${name} not-run`);
        seen += ran.length;
      }
      expect(seen).toBeGreaterThan(3);
    },
  );
});
