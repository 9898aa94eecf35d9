import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../types/common.ts";
import type { ToolResultPart } from "../types/message.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { CycleCounts, type CycleRules } from "./count-cycles.ts";

const call = (name: string, args: Json = {}): ToolCall => ({ callId: "c", name, args });
const result = (value: Json): ToolResultPart => ({ callId: "c", name: "t", outcome: "completed", result: value });

/** Finds loops in a string. Each letter stands for an iteration with one call, and each "." for an iteration without calls. */
function findIn(iterations: string, threshold: number, maxCycle = 4): string {
  let repetition = new CycleCounts({ maxCycle, compareResults: false });
  return Array.from(iterations, (name) => {
    repetition = repetition.countCalls(name === "." ? [] : [call(name)]);
    const found = repetition.findRepeats(threshold);
    return found === undefined ? "-" : `${found.count}x${found.cycle}`;
  }).join(" ");
}

it.for<[title: string, iterations: string, threshold: number, found: string]>([
  ["finds three identical iterations with threshold 3", "AAA", 3, "- - 3x1"],
  ["reports identical iterations again at each multiple of threshold 3", "AAAAAAA", 3, "- - 3x1 - - 6x1 -"],
  ["starts counting again after a different iteration", "AABAA", 2, "- 2x1 - - 2x1"],
  ["finds a cycle of three iterations, two of which are identical", "AABAABAAB", 3, "- - - - - - - - 3x3"],
  ["finds a cycle of two iterations with threshold 3", "ABABAB", 3, "- - - - - 3x2"],
  [
    "reports a cycle of two iterations again at each multiple of threshold 3",
    "CABABABABABAB",
    3,
    "- - - - - - 3x2 - - - - - 6x2",
  ],
  ["finds a cycle of two iterations with threshold 2", "ABAB", 2, "- - - 2x2"],
  ["reports identical iterations again at each multiple of threshold 2", "AAAA", 2, "- 2x1 - 4x1"],
  ["finds a cycle of three iterations with threshold 2", "ABCABC", 2, "- - - - - 2x3"],
  ["finds a cycle of four iterations with threshold 2", "ABCDABCD", 2, "- - - - - - - 2x4"],
  ["finds no cycle of five iterations by default", "ABCDEABCDE", 2, "- - - - - - - - - -"],
  ["finds no cycle if the last iteration differs", "ABCABD", 2, "- - - - - -"],
  ["starts counting again after an iteration without calls", "AA.A", 2, "- 2x1 - -"],
  ["finds no loop if an iteration without calls separates identical iterations", "AA.AA", 3, "- - - - -"],
])("CycleCounts: %s", ([, iterations, threshold, found]) => {
  expect(findIn(iterations, threshold)).toBe(found);
});

it("CycleCounts: finds no cycle longer than maxCycle", () => {
  expect([findIn("ABAB", 2, 1), findIn("AA", 2, 1)]).toEqual(["- - - -", "- 2x1"]);
});

it.for<[title: string, first: readonly ToolCall[], second: readonly ToolCall[], same: boolean]>([
  ["ignores the order of calls", [call("a"), call("b", 1)], [call("b", 1), call("a")], true],
  [
    "ignores the order of keys in arguments",
    [call("a", { x: 1, y: { p: 1, q: 2 } })],
    [call("a", { y: { q: 2, p: 1 }, x: 1 })],
    true,
  ],
  ["ignores call ids", [{ ...call("a"), callId: "1" }], [{ ...call("a"), callId: "2", argsText: "{ }" }], true],
  ["compares which calls an iteration contains", [call("a"), call("b")], [call("a")], false],
  ["distinguishes calls with different arguments", [call("a", { x: 1 })], [call("a", { x: "1" })], false],
  ["distinguishes arrays whose items are in a different order", [call("a", [1, 2])], [call("a", [2, 1])], false],
  ["distinguishes calls to different tools", [call("a", 1)], [call("b", 1)], false],
  ["distinguishes two calls from one call with a misleading name", [call("a"), call("b")], [call('a",{}]\n["b')], false],
  [
    "distinguishes an argument with the key __proto__ from no argument",
    [call("a", JSON.parse('{"__proto__":{"x":1}}'))],
    [call("a", {})],
    false,
  ],
  [
    "compares malformed arguments as text",
    [{ ...call("a"), problem: "malformed", argsText: "{" }],
    [{ ...call("a"), problem: "malformed", argsText: "[" }],
    false,
  ],
  [
    "distinguishes malformed arguments from valid arguments",
    [{ ...call("a"), problem: "malformed", argsText: "{" }],
    [call("a")],
    false,
  ],
])("CycleCounts: %s", ([, first, second, same]) => {
  const repetition = new CycleCounts({ maxCycle: 1, compareResults: false }).countCalls(first).countCalls(second);
  expect(repetition.findRepeats(2)).toEqual(same ? { cycle: 1, count: 2 } : undefined);
});

it("CycleCounts: compares results call by call, even if the order of the calls changes", () => {
  const one = [call("a"), call("b")];
  const other = [call("b"), call("a")];
  const started = new CycleCounts({ maxCycle: 2, compareResults: true });
  const first = started.countCalls(one).noteResults(one, [result(1), result(2)]);
  const same = first.countCalls(other).noteResults(other, [result(2), result(1)]);
  const swapped = first.countCalls(other).noteResults(other, [result(1), result(2)]);
  expect([same.findRepeats(2), swapped.findRepeats(2)]).toEqual([{ cycle: 1, count: 2 }, undefined]);
});

/** One iteration: a letter for its calls, and a number for their results. */
type Iteration = readonly [calls: string, gives: number];

function findByHand(
  iterations: readonly Iteration[],
  threshold: number,
  { maxCycle, compareResults }: CycleRules,
): ReturnType<CycleCounts["findRepeats"]> {
  const isSame = (a: number, b: number): boolean =>
    iterations[a]?.[0] === iterations[b]?.[0] &&
    (!compareResults || a === iterations.length - 1 || iterations[a]?.[1] === iterations[b]?.[1]);
  const hasPeriod = (length: number, period: number): boolean => {
    for (let at = iterations.length - 1; at - period >= iterations.length - length; at -= 1)
      if (!isSame(at, at - period)) return false;
    return true;
  };
  for (let cycle = 1; cycle <= maxCycle; cycle += 1) {
    let length = cycle;
    while (length < iterations.length && hasPeriod(length + 1, cycle)) length += 1;
    const count = length / cycle;
    const shorter = Array.from({ length: cycle - 1 }, (_, index) => index + 1);
    const isPrimitive = !shorter.some((period) => cycle % period === 0 && hasPeriod(length, period));
    if (count > 1 && count % threshold === 0 && isPrimitive) return { cycle, count };
  }
  return undefined;
}

it("CycleCounts: finds the same loops as a search of the whole history, in bounded memory", () => {
  const letters = fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 1 }));
  const block = fc.tuple(fc.array(letters, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 5 }));
  const histories = fc
    .array(block, { maxLength: 4 })
    .map((blocks) => blocks.flatMap(([iterations, times]) => Array.from({ length: times }, () => iterations).flat()));
  const rules = fc.record({
    threshold: fc.integer({ min: 2, max: 4 }),
    maxCycle: fc.integer({ min: 1, max: 6 }),
    compareResults: fc.boolean(),
  });
  fc.assert(
    fc.property(histories, rules, (history: readonly Iteration[], { threshold, maxCycle, compareResults }) => {
      let repetition = new CycleCounts({ maxCycle, compareResults });
      history.forEach(([name, gives], index) => {
        const calls = [call(name)];
        repetition = repetition.countCalls(calls);
        expect(repetition.findRepeats(threshold)).toEqual(
          findByHand(history.slice(0, index + 1), threshold, { maxCycle, compareResults }),
        );
        repetition = repetition.noteResults(calls, [result(gives)]);
        expect(repetition.iterations.length).toBeLessThanOrEqual(maxCycle + 1);
      });
    }),
    { numRuns: 200 },
  );
});
