import { describe, expect, it } from "vitest";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { memoryJournal } from "./memory-journal.ts";

const untouched = (): never => {
  throw new Error("run again");
};

describe("memoryJournal", () => {
  it("runs and records synchronous steps synchronously", () => {
    const journal = memoryJournal();
    expect([journal.durable, journal.step("a", () => ({ n: 1 })), journal.read("a"), journal.read("b")]).toEqual([
      false,
      { n: 1 },
      { n: 1 },
      undefined,
    ]);
    expect([journal.keys(), JSON.stringify(journal)]).toEqual([["a"], '{"steps":{"a":{"n":1}}}']);
  });

  it("records asynchronous results in the order of completion", async () => {
    const journal = memoryJournal();
    let finish = (): void => {};
    const slow = journal.step("slow", () => new Promise<string>((resolve) => (finish = () => resolve("slow"))));
    const answers = Promise.all([slow, journal.step("quick", async () => "quick"), journal.step("at once", () => "at once")]);
    await Promise.resolve();
    finish();
    expect([await answers, journal.keys()]).toEqual([
      ["slow", "quick", "at once"],
      ["at once", "quick", "slow"],
    ]);
  });

  it("does not record a step that fails", async () => {
    const journal = memoryJournal();
    expect(() => journal.step("a", untouched)).toThrow("run again");
    await expect(journal.step("b", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(journal.keys()).toEqual([]);
  });

  it("replays saved steps and runs all other steps", async () => {
    const journal = memoryJournal(JSON.parse('{"steps":{"a":{},"b":{"value":1}}}'));
    expect([
      journal.step("a", untouched),
      await Promise.all([journal.step("b", untouched), journal.step("c", async () => ({}))]),
    ]).toEqual([{}, [{ value: 1 }, {}]]);
    expect(JSON.stringify(journal)).toBe('{"steps":{"a":{},"b":{"value":1},"c":{}}}');
  });

  it("treats keys like __proto__ as data", () => {
    const journal = memoryJournal();
    journal.step("__proto__", () => ({ value: 1 }));
    const saved = JSON.stringify(journal);
    expect([saved, memoryJournal(JSON.parse(saved)).step("__proto__", untouched)]).toEqual([
      '{"steps":{"__proto__":{"value":1}}}',
      { value: 1 },
    ]);
    expect(memoryJournal().step("constructor", () => ({ value: 2 }))).toEqual({ value: 2 });
  });

  it.for<[title: string, saved: unknown]>([
    ["null", null],
    ["a number", 7],
    ["unparsed JSON text", "{}"],
    ["an array", []],
    ["an object without steps", {}],
    ["an object whose steps are an array", { steps: [] }],
    ["an object whose steps are null", { steps: null }],
  ])("rejects a saved journal that is %s", ([, saved]) => {
    let thrown: unknown;
    try {
      memoryJournal(saved as never);
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown, "invalid-option")).toBe(true);
  });
});
