import { describe, expect, it } from "vitest";
import type { Message } from "turnwright";
import { type ConversationStore, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, createTestClock, type TestClock, text, toolCall, wait } from "turnwright/testing";
import { createStage, crashing, playing, readAll, readStart, sharedStore, tool, watchAppend } from "./stage.ts";

const told = ["In Celsius.", "For Oslo."];

function working(clock: TestClock) {
  const provider = createMockProvider(({ iteration }) =>
    iteration < 2 ? [wait(10), toolCall("look")] : [wait(10), text("Done.")],
  );
  return { provider, tools: [tool("look", () => "seen")], clock };
}

const userTexts = (messages: readonly Message[]): readonly unknown[] =>
  messages.flatMap((message) => (message.role === "user" ? [message.content] : []));

async function startAndSteer(store: ConversationStore, id: string): Promise<"completed" | "crashed" | "crashed-before"> {
  const clock = createTestClock();
  const host = createRunHost({ store, clock, whenBusy: "steer" });
  const started = await host.start(id, { ...working(clock), message: "Weather?" }).catch(() => undefined);
  await clock.flush();
  if (started?.kind !== "started" || (await host.status(id))?.isLive !== true) return "crashed-before";
  const ended = started.result.catch(() => undefined);
  for (const message of told) expect((await host.start(id, { ...working(clock), message })).kind).toBe("steered");
  await clock.advance(1000);
  return (await ended) === undefined ? "crashed" : "completed";
}

describe('host.start() with whenBusy: "steer"', () => {
  it.each(["resume", "start"] as const)(
    "delivers each accepted message exactly once if host.%s() follows a crash at any record",
    async (next) => {
      let crashes = 0;
      for (let crashAt = 1; crashAt < 50; crashAt += 1) {
        const store = sharedStore();
        const id = `steered ${next} ${crashAt}`;
        const end = await startAndSteer(crashing(store, crashAt), id);
        if (end === "completed") break;
        if (end === "crashed-before") continue;
        crashes += 1;
        const clock = createTestClock();
        const host = createRunHost({ store, clock });
        const options = working(clock);
        const going = next === "resume" ? host.resume(id, options) : host.start(id, { ...options, message: "And now?" });
        await clock.advance(1000);
        expect((await going).kind).toBe("started");
        await readAll(host.join(id));
        const status = await host.status(id);
        expect(status?.status).toBe("completed");
        expect(userTexts(status?.messages ?? [])).toEqual(["Weather?", ...told, ...(next === "start" ? ["And now?"] : [])]);
      }
      expect(crashes).toBeGreaterThan(4);
    },
  );

  it("rejects an invalid message before anything is stored", async () => {
    const store = sharedStore();
    const { host, clock, id } = createStage({ store, whenBusy: "steer" });
    const options = working(clock);
    const first = await host.start(id, { ...options, message: "Weather?" });
    const message = { role: "user" as const, content: 5 as never };
    await expect(host.start(id, { ...options, message })).rejects.toMatchObject({ code: "invalid-option" });
    expect(store.lastRun(id)?.steered).toBeUndefined();
    await clock.advance(1000);
    expect((await readStart(first)).status).toBe("completed");
  });

  it("rejects if the store fails, without steering the run", async () => {
    const store = sharedStore();
    let isFull = false;
    const full = watchAppend(store, () => {
      if (isFull) throw new Error("The disk is full.");
    });
    const { host, clock, id } = createStage({ store: full, whenBusy: "steer" });
    const options = working(clock);
    const first = await host.start(id, { ...options, message: "Weather?" });
    isFull = true;
    await expect(host.start(id, { ...options, message: "Lost." })).rejects.toThrow("The disk is full.");
    isFull = false;
    expect((await host.start(id, { ...options, message: "Kept." })).kind).toBe("steered");
    await clock.advance(1000);
    expect(userTexts((await readStart(first)).messages)).toEqual(["Weather?", "Kept."]);
  });
});

it.for([
  ["null", null],
  ["a string", "gone"],
  ["an invalid conversation", { messages: [], state: { runs: "1" } }],
] as const)("createRunHost: start(), resume() and status() reject if the store returns %s", async ([, stored]) => {
  const memory = memoryConversationStore();
  const lock = async (name: string) => ({ ...(await memory.lock(name)), stored });
  const store = { ...memory, load: () => stored, lock } as unknown as ConversationStore;
  const { host, clock, id } = createStage({ store });
  const message =
    /^Option "store.lo(ad|ck)\(id\).*" is .*, but must be a StoredConversation, or undefined if the conversation does not exist/;
  await expect(host.start(id, { ...playing([text("One.")], clock), message: "Go." })).rejects.toThrow(message);
  await expect(host.resume(id, playing([text("One.")], clock))).rejects.toThrow(message);
  await expect(host.status(id)).rejects.toThrow(message);
});

describe("createRunHost with storeMs", () => {
  it.each(["lock", "append"] as const)("rejects host.start() if store.%s() takes longer than storeMs", async (verb) => {
    let hangs = true;
    const store = sharedStore();
    const hang = (): Promise<void> | undefined => (hangs ? new Promise(() => {}) : undefined);
    const watched = watchAppend(store, () => (verb === "append" ? hang() : undefined));
    const hanging: ConversationStore = {
      ...watched,
      lock: async (name) => {
        if (verb === "lock") await hang();
        return watched.lock(name);
      },
    };
    const { host, clock, id } = createStage({ store: hanging, storeMs: 5000 });
    const options = working(clock);
    const start = host.start(id, { ...options, message: "Weather?" });
    const refused = start.catch((error: unknown) => error);
    await clock.advance(4999);
    expect(clock.pending).toBeGreaterThan(0);
    await clock.advance(1);
    expect(await refused).toMatchObject({ code: "store-unresponsive", details: { verb, ms: 5000 } });
    expect(clock.pending).toBe(0);
    hangs = false;
    const second = await host.start(id, { ...options, message: "Weather?" });
    await clock.advance(1000);
    expect((await readStart(second)).status).toBe("completed");
  });
});
