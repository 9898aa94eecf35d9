import { describe, expect, it } from "vitest";
import type { ResultStore, StoredResult } from "../core/types/middleware-options.ts";
import { runTool } from "../testing/run-tool.ts";
import { createTestClock } from "../testing/test-clock.ts";
import { createMemoryStore, createResultCache, type ResultCache, type ResultCacheOptions } from "./result-cache.ts";

const facts = { toolName: "search" };
const idIn = (kept: string): string => /id "([^"]+)"/.exec(kept)?.[1] ?? "";

async function keep({ cacher }: ResultCache, output: string): Promise<string> {
  return idIn(await cacher.store(output, facts));
}

async function ask({ tool }: ResultCache, args: unknown): Promise<unknown> {
  const outcome = await runTool(tool, args);
  return outcome.kind === "completed" ? outcome.data : outcome.kind;
}

it("createResultCache: shows the id, size and first lines of a long result", async () => {
  const cache = createResultCache();
  const output = Array.from({ length: 30 }, (_, index) => `row ${index + 1}`).join("\n");
  const kept = await cache.cacher.store(output, facts);
  const id = idIn(kept);
  const first = Array.from({ length: 10 }, (_, index) => `row ${index + 1}`).join("\n");
  expect(kept).toBe(
    `[The result of search is stored: about 50 tokens, 30 lines. To read or search it, use the tool read_part with the id "${id}". The result begins:]\n${first}`,
  );
  expect(await ask(cache, { action: "tail", id, lines: 1 })).toBe("Lines 30 to 30 of 30.\nrow 30");
  expect(await ask(cache, { action: "read", id, start_line: 29, end_line: null })).toBe("Lines 29 to 30 of 30.\nrow 29\nrow 30");
  expect(await ask(cache, { action: "grep", id, pattern: "ROW 3.", ignore_case: true })).toContain("30: row 30");
  expect(await ask(cache, { action: "head", id, lines: null })).toContain("Lines 1 to 20 of 30.");
  expect(await ask(cache, { action: "stats", id })).toBe("Lines: 30. Bytes: 200. Tokens: about 50.");
});

it("createResultCache: shortens the preview of a single long line", async () => {
  const kept = await createResultCache().cacher.store("😀".repeat(10_000), facts);
  expect(kept.length).toBeLessThan(900);
  expect(/\p{Surrogate}/u.test(kept)).toBe(false);
});

it("createResultCache: does not store results from its read_part tool", async () => {
  const cache = createResultCache({ threshold: 0 });
  expect([cache.cacher.threshold, await cache.cacher.store("x", { toolName: "read_part" })]).toEqual([0, "x"]);
});

it.for<[what: string, args: unknown]>([
  ["input that is not an object", "read"],
  ["a missing id", { action: "stats" }],
  ["an id that is not a string", { action: "stats", id: 7 }],
  ["a missing action", { id: "x" }],
  ["an unknown action", { action: "write", id: "x" }],
  ["the action __proto__", { action: "__proto__", id: "x" }],
  ["a start_line of 0", { action: "read", id: "x", start_line: 0 }],
  ["a fractional end_line", { action: "read", id: "x", end_line: 1.5 }],
  ["a negative number of lines", { action: "head", id: "x", lines: -1 }],
  ["a grep action without a pattern", { action: "grep", id: "x" }],
  ["a grep action with an empty pattern", { action: "grep", id: "x", pattern: "" }],
  ["a pattern of more than 1,000 characters", { action: "grep", id: "x", pattern: "x".repeat(1_001) }],
])("read_part tool: rejects %s", async ([, args]) => {
  expect(await ask(createResultCache(), args)).toBe("invalid-input");
});

it.for<[what: string, id: string]>([
  ["a guess", "abc-000000000000000000000000"],
  ["a path", "../../etc/passwd"],
  ["empty", ""],
  ["__proto__", "__proto__"],
  ["in capitals", "ABC-000000000000000000000000"],
  ["followed by a line break", "abc-000000000000000000000000\n"],
])("read_part tool: fails for an id that is %s", async ([what, id]) => {
  const read: string[] = [];
  const store: ResultStore = { ...createMemoryStore(), read: (asked) => void read.push(asked) };
  const outcome = await runTool(createResultCache({ store, clock: { now: () => 0 } }).tool, { action: "stats", id });
  expect(outcome).toMatchObject({
    kind: "failed",
    error: {
      message: "There is no stored result with this id, or the result has expired. Repeat the call that returned the result.",
    },
  });
  expect(read).toEqual(what === "a guess" ? [id] : []);
});

it("createResultCache: gives every result a different random id", async () => {
  const cache = createResultCache({ clock: { now: () => 1_000 } });
  const ids = await Promise.all(Array.from({ length: 100 }, () => keep(cache, "x")));
  expect(new Set(ids.map((id) => id.split("-")[1])).size).toBe(100);
  expect(ids.every((id) => /^rs-[0-9a-f]{24}$/.test(id))).toBe(true);
});

describe("createResultCache: ttlMs", () => {
  it.for<[ms: number, answer: string]>([
    [3_599_999, "Lines: 1. Bytes: 1. Tokens: about 1."],
    [3_600_000, "failed"],
  ])("is 3,600,000 by default: after %d ms, read_part answers with %j", async ([ms, answer]) => {
    const clock = createTestClock();
    const cache = createResultCache({ clock });
    const id = await keep(cache, "x");
    await clock.advance(ms);
    expect(await ask(cache, { action: "stats", id })).toBe(answer);
  });

  it("removes expired results when the next result is stored", async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const cache = createResultCache({ clock, store, ttlMs: 10 });
    await keep(cache, "old");
    await clock.advance(5);
    const young = await keep(cache, "young");
    await clock.advance(5);
    const last = await keep(cache, "last");
    expect((await store.list()).map(({ id }) => id)).toEqual([young, last]);
  });

  it("keeps results forever if set to Infinity", async () => {
    const clock = createTestClock();
    const cache = createResultCache({ clock, ttlMs: Number.POSITIVE_INFINITY });
    const id = await keep(cache, "x");
    await clock.advance(2 ** 31);
    expect(await ask(cache, { action: "stats", id })).not.toBe("failed");
  });
});

describe("createResultCache: maxBytes", () => {
  it("removes the oldest results until a new result fits", async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const cache = createResultCache({ clock, store, maxBytes: 10 });
    const ids: string[] = [];
    for (const output of ["ééé", "aa", "bb", "cccc"]) {
      ids.push(await keep(cache, output));
      await clock.advance(1);
    }
    const bytes = (await store.list()).map((kept) => kept.bytes);
    expect([(await store.list()).map(({ id }) => id), bytes]).toEqual([ids.slice(1), [2, 2, 4]]);
  });

  it("is not exceeded by results that are stored concurrently", async () => {
    const held = createMemoryStore();
    const store: ResultStore = { ...held, write: async (id, text) => (await Promise.resolve(), held.write(id, text)) };
    const cache = createResultCache({ store, maxBytes: 25 });
    await Promise.all(Array.from({ length: 9 }, () => keep(cache, "x".repeat(10))));
    expect((await held.list()).length).toBe(2);
  });

  it("removes old results before the new result is written", async () => {
    const held = createMemoryStore();
    let most = 0;
    const store: ResultStore = {
      ...held,
      write: async (id, text) => {
        await held.write(id, text);
        most = Math.max(most, (await held.list()).length);
      },
    };
    const cache = createResultCache({ store, maxBytes: 25 });
    for (let count = 0; count < 5; count += 1) await keep(cache, "x".repeat(10));
    expect(most).toBe(2);
  });

  it("rejects a result larger than the cache and keeps the others", async () => {
    const cache = createResultCache({ maxBytes: 10 });
    const id = await keep(cache, "x");
    await expect(cache.cacher.store("é".repeat(6), facts)).rejects.toThrow(
      'A result of 12 bytes does not fit in the result cache. Increase "maxBytes", which is currently 10.',
    );
    expect(await ask(cache, { action: "stats", id })).toContain("Bytes: 1.");
  });

  it("neither counts nor removes values that other code wrote to the store", async () => {
    const store = createMemoryStore();
    await store.write("somebody's own", "x".repeat(100));
    await keep(createResultCache({ store, maxBytes: 10 }), "x");
    expect(await store.read("somebody's own")).toBe("x".repeat(100));
  });
});

describe("createResultCache: a store shared by several caches", () => {
  function countingStore(): { readonly store: ResultStore; readonly counted: { listed: number } } {
    const held = createMemoryStore();
    const counted = { listed: 0 };
    const list = async (): Promise<readonly StoredResult[]> => {
      const all = await held.list();
      counted.listed += all.length;
      return all;
    };
    return { store: { ...held, list }, counted };
  }

  it("is listed so rarely that its size does not slow down writes", async () => {
    const listedFor = async (count: number): Promise<number> => {
      const { store, counted } = countingStore();
      const cache = createResultCache({ store });
      for (let kept = 0; kept < count; kept += 1) await keep(cache, "x");
      return counted.listed;
    };
    expect((await listedFor(1_000)) / (await listedFor(100))).toBeLessThan(15);
  });

  it("stays near maxBytes in size", async () => {
    const { store } = countingStore();
    const caches = Array.from({ length: 3 }, () => createResultCache({ store, maxBytes: 100 }));
    for (let round = 0; round < 50; round += 1) for (const cache of caches) await keep(cache, "x".repeat(10));
    expect((await store.list()).length).toBeLessThan(20);
  });

  it("stays limited in size, even with writes during a listing", async () => {
    const { store } = countingStore();
    const cache = createResultCache({ store: { ...store, list: async () => (await Promise.resolve(), []) }, maxBytes: 25 });
    await Promise.all([keep(cache, "x".repeat(10)), keep(cache, "x".repeat(10)), keep(cache, "x".repeat(10))]);
    expect((await store.list()).length).toBe(2);
  });
});

it("createResultCache: reports errors that the store throws", async () => {
  const fail = (): never => {
    throw new Error("The disk is full.");
  };
  const full = createResultCache({ store: { ...createMemoryStore(), write: fail } });
  await expect(full.cacher.store("x", facts)).rejects.toThrow("The disk is full.");
  const broken = createResultCache({ store: { ...createMemoryStore(), read: fail } });
  expect(await ask(broken, { action: "stats", id: await keep(broken, "x") })).toBe("failed");
});

it.for<[read: unknown]>([[null], [7], [["text"]]])(
  "createResultCache: explains the error if the store's read() returns %j",
  async ([read]) => {
    const cache = createResultCache({ store: { ...createMemoryStore(), read: () => read as never } });
    const outcome = await runTool(cache.tool, { action: "stats", id: await keep(cache, "text") });
    const message = expect.stringContaining(
      "The read() method of the result store must return a string, or undefined if there is no text",
    );
    expect(outcome).toMatchObject({ kind: "failed", error: { message } });
  },
);

it("createResultCache: reads a result that another cache wrote to the same store", async () => {
  const store = createMemoryStore();
  const id = await keep(createResultCache({ store }), "x");
  expect(await ask(createResultCache({ store }), { action: "head", id })).toBe("Lines 1 to 1 of 1.\nx");
});

it.for<[option: string, options: unknown, code: string]>([
  ["store", { store: { write: String } }, "invalid-option"],
  ["ttlMs", { ttlMs: 0 }, "invalid-option"],
  ["maxBytes", { maxBytes: 0.5 }, "invalid-option"],
  ["threshold", { threshold: -1 }, "invalid-option"],
  ["clock", { clock: Date }, "invalid-option"],
  ["directory", { directory: "x" }, "unknown-option"],
])('createResultCache: rejects an invalid or unknown option "%s"', ([option, options, code]) => {
  expect(() => createResultCache(options as ResultCacheOptions)).toThrow(
    expect.objectContaining({ code, details: expect.objectContaining({ option }) }),
  );
});
