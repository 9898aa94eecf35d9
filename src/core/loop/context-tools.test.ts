import { describe, expect, it } from "vitest";
import type { ContextStash } from "../types/middleware-options.ts";
import { isLoopError, type LoopErrorCode } from "../../shared/errors/loop-error.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { type ContextStashOptions, createContextStash } from "./context-tools.ts";

function setUp(options: ContextStashOptions = {}): { readonly stash: ContextStash; readonly clock: TestClock } {
  const clock = createTestClock(1_000);
  return { clock, stash: createContextStash({ clock, ...options }) };
}

function detailsOf(act: () => unknown, code: LoopErrorCode): object {
  try {
    act();
  } catch (error) {
    if (isLoopError(error, code)) return error.details;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("createContextStash", () => {
  it("take() returns each item once, in any order", () => {
    const { stash } = setUp();
    const keys = ["a", "b", "c"].map((name) => stash.put({ name }));
    const take = (index: number): unknown => stash.take(keys[index] ?? "");
    expect([take(1), take(0), take(1), take(2), take(0)]).toEqual([
      { name: "b" },
      { name: "a" },
      undefined,
      { name: "c" },
      undefined,
    ]);
  });

  it("put() creates a random key for each item, even for equal items", () => {
    const { stash } = setUp({ maxEntries: 1_000 });
    const keys = Array.from({ length: 1_000 }, () => stash.put("same"));
    expect(new Set(keys).size).toBe(1_000);
    for (const key of keys) expect(key).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  });

  it("put() copies the item, so later changes to it have no effect", () => {
    const { stash } = setUp();
    const item = { seen: ["a"] };
    const key = stash.put(item);
    item.seen.push("b");
    expect(stash.take(key)).toEqual({ seen: ["a"] });
  });

  it.for<[item: unknown, taken: unknown]>([
    [null, null],
    [0, 0],
    ["", ""],
    [false, false],
    [[], []],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ kept: 1, dropped: undefined }, { kept: 1 }],
  ])("take() returns %j if this is the stored item", ([item, taken]) => {
    const { stash } = setUp();
    expect(stash.take(stash.put(item))).toEqual(taken);
  });

  it("take() returns an item with the key __proto__ as plain data", () => {
    const { stash } = setUp();
    const taken = stash.take(stash.put(JSON.parse('{ "__proto__": { "admin": true } }')));
    expect([JSON.stringify(taken), Object.getPrototypeOf(taken)]).toEqual(['{"__proto__":{"admin":true}}', Object.prototype]);
  });

  it.for<[title: string, key: unknown]>([
    ["the unknown key __proto__", "__proto__"],
    ["the unknown key constructor", "constructor"],
    ["the unknown key toString", "toString"],
    ["an empty key", ""],
    ['the key "undefined"', "undefined"],
    ["a key that is undefined", undefined],
    ["a key that is null", null],
    ["a key that is a number", 7],
    ["a key that is an object", {}],
  ])("take() returns undefined for %s", ([, key]) => {
    const { stash } = setUp();
    stash.put({ kept: true });
    expect(stash.take(key as never)).toBeUndefined();
  });

  it("put() accepts the keys __proto__ and constructor from createKey", () => {
    const keys = ["__proto__", "constructor"];
    const { stash } = setUp({ createKey: () => keys.shift() ?? "" });
    expect([stash.put(1), stash.put(2), stash.take("constructor"), stash.take("__proto__")]).toEqual([
      "__proto__",
      "constructor",
      2,
      1,
    ]);
  });

  it("put() and take() work when destructured from the stash", () => {
    const { put, take } = setUp().stash;
    expect(take(put(1))).toBe(1);
  });
});

describe("createContextStash: ttlMs", () => {
  it.for<[title: string, ttlMs: number | undefined, afterMs: number, taken: unknown]>([
    ["returns the item for 299,999 ms by default", undefined, 299_999, "item"],
    ["returns undefined after 300,000 ms by default", undefined, 300_000, undefined],
    ["returns the item immediately after put() if ttlMs is 1", 1, 0, "item"],
    ["returns undefined after 1 ms if ttlMs is 1", 1, 1, undefined],
    ["returns the item at any later time if ttlMs is Infinity", Number.POSITIVE_INFINITY, 1e12, "item"],
  ])("take() %s", async ([, ttlMs, afterMs, taken]) => {
    const { stash, clock } = setUp({ ttlMs });
    const key = stash.put("item");
    await clock.advance(afterMs);
    expect([stash.take(key), clock.pending]).toEqual([taken, 0]);
  });

  it("measures an item's time from put(), even if other items are taken", async () => {
    const { stash, clock } = setUp({ ttlMs: 100 });
    const first = stash.put("first");
    await clock.advance(60);
    const second = stash.put("second");
    const third = stash.put("third");
    await clock.advance(39);
    expect(stash.take(third)).toBe("third");
    await clock.advance(1);
    expect([stash.take(first), stash.take(second)]).toEqual([undefined, "second"]);
  });

  it("put() can reuse the space and the keys of expired items", async () => {
    const keys = ["a", "b", "a", "c"];
    const { stash, clock } = setUp({ ttlMs: 100, maxEntries: 2, createKey: () => keys.shift() ?? "" });
    stash.put("old");
    await clock.advance(50);
    stash.put("young");
    await clock.advance(50);
    stash.put("new");
    expect([stash.take("a"), stash.take("b")]).toEqual(["new", "young"]);
  });
});

describe("createContextStash: maxEntries", () => {
  it.for<[maxEntries: number | undefined, held: number]>([
    [undefined, 16],
    [1, 1],
    [3, 3],
  ])("put() keeps the newest $1 items if maxEntries is $0", ([maxEntries, held]) => {
    const { stash } = setUp({ maxEntries });
    const keys = Array.from({ length: held + 2 }, (_, index) => stash.put(index));
    expect(keys.map((key) => stash.take(key))).toEqual([
      undefined,
      undefined,
      ...Array.from({ length: held }, (_, index) => index + 2),
    ]);
  });

  it("put() does not count items that were already taken", () => {
    const { stash } = setUp({ maxEntries: 2 });
    const [first, second] = [stash.put(1), stash.put(2)];
    stash.take(second);
    const third = stash.put(3);
    expect([stash.take(first), stash.take(third)]).toEqual([1, 3]);
  });

  it("a rejected put() does not drop any stored item", () => {
    const { stash } = setUp({ maxEntries: 1 });
    const key = stash.put("kept");
    expect(() => stash.put(1n)).toThrow("BigInt");
    expect(stash.take(key)).toBe("kept");
  });
});

describe("createContextStash: validation", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const unreadable = {
    get secret(): never {
      throw new Error("the content");
    },
  };

  it.for<[title: string, item: unknown, received: string]>([
    ["undefined", undefined, "undefined"],
    ["a function", () => 1, "a function"],
    ["a BigInt", { deep: [1n] }, "a BigInt"],
    ["a cyclic object", cyclic, "a cyclic value, or more than 1,000 levels"],
    ["a Map", new Map([["a", 1]]), "a Map"],
    ["a Set", new Set([1]), "a Set"],
    ["an async generator", (async function* () {})(), "a generator or a stream, which has to be read to its end first"],
    ["an object that throws when read", unreadable, "a value that cannot be read"],
  ])("put() rejects %s", ([, item, received]) => {
    const { stash } = setUp();
    expect(detailsOf(() => stash.put(item), "invalid-option")).toEqual({ option: "item", expected: "plain data", received });
  });

  it("put() rejects a promise and handles its rejection", () => {
    const { stash } = setUp();
    expect(detailsOf(() => stash.put(Promise.reject(new Error("late"))), "invalid-option")).toMatchObject({
      option: "item",
      received: "a promise, which has to be awaited first",
    });
  });

  it.for<[title: string, given: unknown, option: string, received: string]>([
    ["options that are null", null, "options", "null"],
    ["options in an array", [], "options", "an array of 0 items"],
    ["ttlMs: 0", { ttlMs: 0 }, "ttlMs", "0"],
    ["ttlMs: -1", { ttlMs: -1 }, "ttlMs", "-1"],
    ["ttlMs: 1.5", { ttlMs: 1.5 }, "ttlMs", "1.5"],
    ["ttlMs: NaN", { ttlMs: Number.NaN }, "ttlMs", "NaN"],
    ["a ttlMs that is a string", { ttlMs: "300000" }, "ttlMs", '"300000"'],
    ["maxEntries: 0", { maxEntries: 0 }, "maxEntries", "0"],
    ["maxEntries: 2.5", { maxEntries: 2.5 }, "maxEntries", "2.5"],
    ["maxEntries: Infinity", { maxEntries: Number.POSITIVE_INFINITY }, "maxEntries", "Infinity"],
    ["a maxEntries that is a string", { maxEntries: "16" }, "maxEntries", '"16"'],
    ["a clock whose `now` field is a number", { clock: { now: 7 } }, "clock", "an object"],
    ["a clock without a `now` field", { clock: {} }, "clock", "an object"],
    ["a clock that is null", { clock: null }, "clock", "null"],
    ["a createKey that is a string", { createKey: "key" }, "createKey", '"key"'],
  ])("rejects %s", ([, given, option, received]) => {
    expect(detailsOf(() => createContextStash(given as never), "invalid-option")).toMatchObject({ option, received });
  });

  it.for<[title: string, option: string, nearest: string | undefined]>([
    ["suggests ttlMs for the unknown option ttlMS", "ttlMS", "ttlMs"],
    ["suggests no name for the unknown option constructor", "constructor", undefined],
  ])("%s", ([, option, nearest]) => {
    const given = { [option]: 5 };
    expect(detailsOf(() => createContextStash(given), "unknown-option")).toEqual({ option, nearest });
  });

  it.for<[title: string, key: unknown, received: string]>([
    ["a number", 7, "a function that returned 7"],
    ["a promise", Promise.resolve("key"), "a function that returned a promise"],
    ["an empty string", "", 'a function that returned ""'],
    ["a key in use", "held", "a function that returned a key that is in use"],
  ])("put() throws and keeps the stored item if createKey returns %s", ([, key, received]) => {
    const keys = ["held", key];
    const { stash } = setUp({ maxEntries: 1, createKey: () => keys.shift() as never });
    stash.put("kept");
    expect(detailsOf(() => stash.put("other"), "invalid-option")).toMatchObject({ option: "createKey", received });
    expect(stash.take("held")).toBe("kept");
  });

  it("accepts options that are set to undefined", () => {
    const stash = createContextStash({ ttlMs: undefined, maxEntries: undefined, clock: undefined, createKey: undefined });
    expect(stash.take(stash.put(1))).toBe(1);
  });
});
