import { describe, expect, it } from "vitest";
import {
  contextRestart,
  contextRestarts,
  createContextStash,
  type Json,
  type LoopOptions,
  memoryJournal,
  toolResult,
} from "turnwright";
import type { ContextSource } from "../../../src/core/types/middleware-options.ts";
import { createTestClock, type MockScript, text, toolCall } from "turnwright/testing";
import { answersOf, never, play, tool, type Playing } from "../play.ts";

const item = { name: "Ada", likes: ["tides"] };
const shown = { role: "user", content: `Context:\n${JSON.stringify(item)}` };
const script: MockScript = [toolCall("enrich"), text("Hello Ada.")];

const naming = (key: string, more: object = {}): object =>
  contextRestart({ type: "context_restart_profile", pending_context_key: key, ...more });

function start(
  answer: unknown,
  stash: ContextSource | undefined,
  { turns = script, ...more }: Partial<LoopOptions> & { readonly turns?: MockScript } = {},
): Playing {
  return play(turns, { tools: [tool("enrich", () => answer)], middleware: [contextRestarts({ stash })], ...more });
}

const contextsOf = ({ provider }: Playing): readonly unknown[] =>
  provider.requests.slice(1).map(({ messages }) => (messages.at(-1)?.role === "user" ? messages.at(-1) : undefined));

const lookupsOf = ({ recording }: Playing): readonly unknown[] =>
  recording.of("restart").map(({ pendingContext }) => pendingContext);

function createNoting(held: Json | undefined = item): ContextSource & { readonly asked: readonly unknown[] } {
  const asked: unknown[] = [];
  return { asked, take: (key) => (asked.push(key), held) };
}

describe("a restart's pending_context_key", () => {
  it("adds the stashed item after the results in all later requests", async () => {
    const stash = createContextStash();
    const tools = [tool("enrich", () => naming(stash.put(item))), tool("other", () => 1)];
    const turns = [toolCall("enrich"), toolCall("other"), text("Hello Ada.")];
    const playing = start(undefined, stash, { tools, turns });
    const result = await playing.result;
    expect(contextsOf(playing)).toEqual([shown, shown]);
    expect(lookupsOf(playing)).toEqual(["found"]);
    // The stashed item is part of the requests, but not of the results, the history and the messages.
    expect(answersOf(result)[0]).toMatchObject({ outcome: "restarted", result: { status: "context_restarted" } });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.name)).toEqual(["other"]);
    expect(JSON.stringify([result.messages, result.functionHistory])).not.toContain("tides");
    expect(playing.recording.of("tool-end")[0]?.result).toEqual({ status: "context_restarted" });
  });

  it("adds the stashed item after the restart's own item", async () => {
    const playing = start(naming("k", { enhanced_context_item: [1] }), createNoting({ two: 2 }));
    await playing.result;
    expect(contextsOf(playing)).toEqual([{ role: "user", content: 'Context:\n[1]\n{"two":2}' }]);
  });

  it.for<[what: string, held: Json, said: string]>([
    ["a string", "It is night.", "It is night."],
    ["a number", 7, "7"],
    ["false", false, "false"],
  ])("adds a stashed item that is %s", async ([, held, said]) => {
    const playing = start(naming("k"), createNoting(held));
    await playing.result;
    expect(contextsOf(playing)).toEqual([{ role: "user", content: `Context:\n${said}` }]);
    expect(lookupsOf(playing)).toEqual(["found"]);
  });

  it("adds the stashed item to the contextItems of later tools", async () => {
    let seen: readonly Json[] = [];
    const look = tool("look", (_, { contextItems }) => void (seen = [...contextItems]));
    const tools = [tool("enrich", () => naming("k")), look];
    const turns = [toolCall("enrich"), toolCall("look"), text("Done.")];
    const middleware = [contextRestarts({ items: ["It is night."], stash: createNoting() })];
    await start(undefined, undefined, { tools, turns, middleware }).result;
    expect(seen).toEqual(["It is night.", item]);
  });

  it("waits for an asynchronous stash", async () => {
    const clock = createTestClock();
    const slow: ContextSource = {
      take: () => new Promise((resolve) => void clock.setTimeout(() => resolve(item), 29_999)),
    };
    const playing = start(naming("k"), slow, { clock });
    await clock.runAll();
    expect((await playing.result).text).toBe("Hello Ada.");
    expect(contextsOf(playing)).toEqual([shown]);
  });

  it("takes the stashed item once, for the first of two calls with the same key", async () => {
    const stash = createContextStash();
    const key = stash.put(item);
    const turns = [[toolCall("enrich"), toolCall("enrich")], toolCall("enrich"), text("Done.")];
    const playing = start(naming(key), stash, { turns });
    await playing.result;
    expect(lookupsOf(playing)).toEqual(["found", "missing", "missing"]);
    expect(contextsOf(playing)).toEqual([shown, shown]);
  });
});

it('a pending_context_key without a stash adds no item and emits "listener-error"', async () => {
  const playing = start(naming("k"), undefined);
  expect((await playing.result).text).toBe("Hello Ada.");
  expect(lookupsOf(playing)).toEqual(["missing"]);
  expect(playing.recording.of("listener-error")).toMatchObject([
    {
      event: "stash",
      error: {
        message: 'The tool result has a "pending_context_key", but contextRestarts() was created without a "stash".',
      },
    },
  ]);
});

describe("createContextStash", () => {
  const clock = createTestClock();
  const inTime = createContextStash({ clock });
  const tooOld = createContextStash({ clock });
  const full = createContextStash({ clock });
  const own = createContextStash({ clock, ttlMs: 10, maxEntries: 1 });

  it.for<[what: string, stash: ContextSource | undefined, key: () => Promise<string>, found: string]>([
    ["is unknown", createContextStash(), async () => "guessed", "missing"],
    ["is __proto__", createContextStash(), async () => "__proto__", "missing"],
    ["is 1 ms younger than five minutes", inTime, () => putAndWait(inTime, 299_999), "found"],
    ["is five minutes old", tooOld, () => putAndWait(tooOld, 300_000), "missing"],
    ["is followed by 15 newer keys", full, () => putBefore(full, 15), "found"],
    ["is followed by 16 newer keys", full, () => putBefore(full, 16), "missing"],
    ["is as old as ttlMs", own, () => putAndWait(own, 10), "missing"],
    ["is beyond maxEntries", own, () => putBefore(own, 1), "missing"],
  ])("keeps an item only within ttlMs and maxEntries (the key %s)", async ([, stash, make, found]) => {
    const playing = start(naming(await make()), stash, { clock });
    const result = await playing.result;
    expect(lookupsOf(playing)).toEqual([found]);
    expect(contextsOf(playing)).toEqual([found === "found" ? shown : undefined]);
    expect([result.text, answersOf(result)[0]?.outcome]).toEqual(["Hello Ada.", "restarted"]);
    expect(playing.recording.of("listener-error")).toEqual([]);
  });

  async function putAndWait(stash: typeof inTime, ms: number): Promise<string> {
    const key = stash.put(item);
    await clock.advance(ms);
    return key;
  }

  async function putBefore(stash: typeof inTime, others: number): Promise<string> {
    const key = stash.put(item);
    for (let count = 0; count < others; count += 1) stash.put(count);
    return key;
  }
});

describe("contextRestarts.stash", () => {
  it.for<[where: string, answer: unknown]>([
    ["a restart names no key", contextRestart({ type: "context_restart_x" })],
    ["plain data names a key", JSON.parse(JSON.stringify(naming("k")))],
    ["a plain result has the data of a restart", toolResult({ data: { type: "context_restart_x", pending_context_key: "k" } })],
    ["a plain result names a key", { pending_context_key: "k" }],
    ["a failed restart names a key", { ...naming("k"), success: false }],
  ])("is not called if %s", async ([, answer]) => {
    const stash = createNoting();
    const playing = start(answer, stash);
    await playing.result;
    expect([stash.asked, contextsOf(playing)]).toEqual([[], [undefined]]);
    expect(lookupsOf(playing).filter((lookup) => lookup !== undefined)).toEqual([]);
  });

  it("is not called in a replay, because the recorded outcome contains the item", async () => {
    const first = start(naming("k"), createNoting());
    const { steps } = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !key.startsWith("i1/")));
    const untouched = createNoting({ another: "item" });
    const again = start("unused", untouched, { journal: memoryJournal({ steps: kept }), turns: [text("Hello again.")] });
    expect((await again.result).text).toBe("Hello again.");
    expect([untouched.asked, again.provider.requests[0]?.messages]).toEqual([[], first.provider.requests[1]?.messages]);
    expect(again.recording.of("restart")).toMatchObject([{ pendingContext: "found", replayed: true }]);
  });

  it("is not called again in a replay if the first lookup found no item", async () => {
    const first = start(naming("k"), { take: () => undefined });
    const journal = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal)));
    const late = createNoting();
    const again = start("unused", late, { journal });
    await again.result;
    expect([late.asked, lookupsOf(again)]).toEqual([[], ["missing"]]);
  });
});

describe("a custom stash", () => {
  it.for<[how: string, take: () => unknown, message: string]>([
    [
      "throws",
      () => {
        throw new Error("The store is closed.");
      },
      "The store is closed.",
    ],
    ["rejects", () => Promise.reject(new Error("The store is closed.")), "The store is closed."],
    ["hangs", () => never, "The hook took longer than 30000 ms."],
    ["returns a BigInt", () => ({ big: 7n }), "a BigInt"],
  ])('adds no item and emits "listener-error" if take() %s', async ([, take, message]) => {
    const playing = start(naming("k"), { take } as ContextSource);
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("Hello Ada.");
    expect([lookupsOf(playing), contextsOf(playing)]).toEqual([["missing"], [undefined]]);
    expect(playing.recording.of("listener-error")).toMatchObject([
      { event: "stash", iteration: 0, error: { message: expect.stringContaining(message) } },
    ]);
  });

  it.for<[answer: string, value: undefined | null]>([
    ["undefined", undefined],
    ["null", null],
  ])("adds no item and reports no error if take() returns %s", async ([, value]) => {
    const playing = start(naming("k"), { take: () => value });
    await playing.result;
    expect([lookupsOf(playing), playing.recording.of("listener-error")]).toEqual([["missing"], []]);
  });

  it.for<[verb: "stop" | "kill", reason: string, endedAt: number]>([
    ["stop", "stopped", 50],
    ["kill", "killed", 50],
  ])('does not delay "%s" if take() hangs', async ([verb, reason, endedAt]) => {
    const playing = start(naming("k"), { take: () => never }, { timeouts: { toolCleanupMs: 50 } });
    await playing.clock.advance(50);
    playing.control[verb]();
    await playing.clock.advance(1_000);
    expect([(await playing.result).reason.kind, playing.endedAt(), playing.clock.pending]).toEqual([reason, endedAt, 0]);
  });

  it("without take() is refused by contextRestarts", () => {
    const refused = { code: "invalid-option", details: expect.objectContaining({ option: "contextRestarts.stash" }) };
    expect(() => contextRestarts({ stash: { put: () => "k" } as never })).toThrow(expect.objectContaining(refused));
  });
});
