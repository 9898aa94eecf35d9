import { describe, expect, it } from "vitest";
import type { Step } from "../types/journal.ts";
import { isLoopError } from "../errors/loop-error.ts";
import { memoryJournal } from "./memory-journal.ts";

const step = <T>(key: string, run: () => T | PromiseLike<T>): Step<T> => ({ key, kind: "tool", input: null, run });
const untouched = (): never => {
  throw new Error("run again");
};

describe("memoryJournal", () => {
  it("runs and records synchronous steps synchronously", () => {
    const journal = memoryJournal();
    expect([journal.durable, journal.step(step("a", () => 1)), journal.all([step("b", () => 2), step("c", () => 3)])]).toEqual([
      false,
      1,
      [2, 3],
    ]);
    expect([journal.keys(), JSON.stringify(journal)]).toEqual([["a", "b", "c"], '{"steps":{"a":1,"b":2,"c":3}}']);
  });

  it("records asynchronous results in order of completion, but returns the results in step order", async () => {
    const journal = memoryJournal();
    let finish = (): void => {};
    const slow = step("slow", () => new Promise<string>((resolve) => (finish = () => resolve("slow"))));
    const answers = journal.all([slow, step("quick", async () => "quick"), step("at once", () => "at once")]);
    await Promise.resolve();
    finish();
    expect([await answers, journal.keys()]).toEqual([
      ["slow", "quick", "at once"],
      ["at once", "quick", "slow"],
    ]);
  });

  it("does not record a step that fails", async () => {
    const journal = memoryJournal();
    expect(() => journal.step(step("a", untouched))).toThrow("run again");
    await expect(journal.step(step("b", () => Promise.reject(new Error("no"))))).rejects.toThrow("no");
    expect(journal.keys()).toEqual([]);
  });

  it("replays saved steps and runs all other steps", async () => {
    const journal = memoryJournal(JSON.parse('{"steps":{"a":null,"b":{"c":1}}}'));
    expect([journal.step(step("a", untouched)), await journal.all([step("b", untouched), step("c", async () => 2)])]).toEqual([
      null,
      [{ c: 1 }, 2],
    ]);
    expect(JSON.stringify(journal)).toBe('{"steps":{"a":null,"b":{"c":1},"c":2}}');
  });

  it("treats keys like __proto__ as data", () => {
    const journal = memoryJournal();
    journal.step(step("__proto__", () => 1));
    const saved = JSON.stringify(journal);
    expect([saved, memoryJournal(JSON.parse(saved)).step(step("__proto__", untouched))]).toEqual([
      '{"steps":{"__proto__":1}}',
      1,
    ]);
    expect(memoryJournal().step(step("constructor", () => 2))).toBe(2);
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
