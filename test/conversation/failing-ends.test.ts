import { describe, expect, it } from "vitest";
import { type Journal, type LoopResult, memoryJournal } from "turnwright";
import { type ConversationStore, createConversation, memoryConversationStore } from "turnwright/conversation";
import { guardrails, type InputCheck } from "turnwright/middleware";
import { createMockProvider, createTestClock, text } from "turnwright/testing";

interface Failing {
  readonly isAway: () => boolean;
  readonly error?: unknown;
  readonly lost?: AbortSignal | undefined;
}

/** A store whose changes fail while `isAway` returns true, except the first change of a run. */
function createFailing({ isAway, error = new Error("The database is away."), lost }: Failing): ConversationStore {
  const store = memoryConversationStore();
  return {
    ...store,
    load: (id) => store.load(id),
    isLocked: (id) => store.isLocked(id),
    remove: (id) => store.remove(id),
    async lock(id) {
      const lock = await store.lock(id);
      let changes = 0;
      return {
        stored: lock.stored,
        lost,
        release: () => lock.release(),
        append(change) {
          changes += 1;
          if (changes > 1 && isAway()) throw error;
          return lock.append(change);
        },
      };
    },
  };
}

function open(failing: Failing) {
  const clock = createTestClock();
  const store = createFailing(failing);
  const provider = createMockProvider(() => text("Paid."));
  return { clock, conversation: createConversation({ id: "chat", store, options: { provider, clock } }) };
}

const textIn = (error: unknown): string => (error as { readonly result: LoopResult }).result.text;

it("a message refused by an input check is removed from the conversation even if the end of the message's run was not stored", async () => {
  let away = true;
  const clock = createTestClock();
  const store = createFailing({ isAway: () => away });
  const journals = new Map<string, Journal>();
  const journal = (runId: string): Journal => {
    const found = journals.get(runId) ?? { ...memoryJournal(), durable: true };
    journals.set(runId, found);
    return found;
  };
  const check: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("evil") ? "refuse" : "pass" }) };
  const middleware = [guardrails({ input: [check] })];
  const options = { provider: createMockProvider(() => text("Yes.")), clock, middleware };
  const conversation = createConversation({ id: "refused", store, journal, options });
  const failed = conversation.send("An evil plan.").catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(String(await failed)).toContain("The database is away.");
  away = false;
  expect((await conversation.send("Hello.")).status).toBe("completed");
  expect((await conversation.messages()).map(({ role }) => role)).toEqual(["user", "assistant"]);
});

describe("conversation.send() with a store that fails when the run ends", () => {
  it("stores the answer later, while the lease is still valid", async () => {
    let away = true;
    const { clock, conversation } = open({ isAway: () => away, lost: new AbortController().signal });
    const sent = conversation.send("Pay.");
    await clock.advance(60_000);
    away = false;
    await clock.advance(1_000);
    expect((await sent).text).toBe("Paid.");
    expect(await conversation.messages()).toHaveLength(2);
  });

  it("rejects with an error that contains the result if a store without leases keeps failing", async () => {
    const { clock, conversation } = open({ isAway: () => true });
    const sent = conversation.send("Pay.").catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await sent).toMatchObject({ message: "The database is away." });
    expect([textIn(await sent), Object.keys((await sent) as Error)]).toEqual(["Paid.", []]);
  });

  it.each<[string, unknown]>([
    ["a frozen error", Object.freeze(new Error("The database is full."))],
    ["a string", "full"],
  ])("rejects with an error that contains the result if the store throws %s", async (_name, error) => {
    const { clock, conversation } = open({ isAway: () => true, error });
    const sent = conversation.send("Pay.").catch((thrown: unknown) => thrown);
    await clock.advance(5_000);
    expect(await sent).toMatchObject({
      message: expect.stringContaining("The store failed"),
      cause: error,
    });
    expect(textIn(await sent)).toBe("Paid.");
  });

  it("rejects with an error that contains the result when the lease is lost", async () => {
    const lost = new AbortController();
    const { clock, conversation } = open({ isAway: () => true, lost: lost.signal });
    const sent = conversation.send("Pay.").catch((error: unknown) => error);
    await clock.advance(10_000);
    lost.abort(new Error("Another process has the lock."));
    await clock.advance(1_000);
    expect(textIn(await sent)).toBe("Paid.");
  });

  it("rejects immediately if the database refuses the change", async () => {
    const error = Object.assign(new Error("Invalid text."), { code: "22021" });
    const { conversation } = open({ isAway: () => true, error, lost: new AbortController().signal });
    const sent = await conversation.send("Pay.").catch((thrown: unknown) => thrown);
    expect([sent, textIn(sent)]).toEqual([error, "Paid."]);
  });
});
