import fc from "fast-check";
import { maskResults, type Message } from "turnwright";
import type { LoggedRun } from "turnwright/inspect";
import type { LoggedRequest } from "../../../src/shared/run-log.ts";
import { describe, expect, it } from "vitest";
import type { MessageChange } from "../../../src/inspect/analysis/align-messages.ts";
import { describeDifference, diffRequests, type RequestDifference } from "../../../src/inspect/analysis/diff-requests.ts";
import { findCacheBreaks } from "../find-cache-breaks.ts";
import { diffTexts } from "../../../src/inspect/analysis/diff-texts.ts";
import { findMasking, findOriginal, maskedUpTo } from "../../../src/inspect/analysis/request-messages.ts";
import { logRun, optionsFor } from "../log-run.ts";
import { editAt, editMessages, logEdited } from "./logged-runs.ts";

function requestsOf(run: LoggedRun): readonly LoggedRequest[] {
  return run.iterations.flatMap(({ request }) => request ?? []);
}

/** Makes the messages of the next request from the messages of the previous request. */
function applyChanges(before: readonly Message[], changes: readonly MessageChange[]): readonly Message[] {
  return changes.flatMap((change) => {
    if (change.kind === "kept") return before.slice(change.index, change.index + change.count);
    return "after" in change ? change.after : [];
  });
}

/** Makes the names of the next tools from the names of the previous tools. */
function applyTools(before: LoggedRequest["tools"], tools: RequestDifference["tools"]): LoggedRequest["tools"] {
  if (tools === undefined) return before;
  const changed = new Map(tools.changed.map(({ name, after }) => [name, after]));
  const all = [...before.map((tool) => changed.get(tool.name) ?? tool), ...tools.added];
  return tools.order.flatMap((name) => all.filter((tool) => tool.name === name));
}

const joined = (pieces: ReturnType<typeof diffTexts>, other: "added" | "removed"): string =>
  pieces
    .filter(({ kind }) => kind !== other)
    .map(({ text }) => text)
    .join("");

const user = (content: string): Message => ({ role: "user", content });
const messageLists = fc.array(fc.constantFrom("a", "b", "c", "d").map(user), { minLength: 1, maxLength: 9 });
const toolLists = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("a", "b", "c"),
    description: fc.constantFrom("One.", "Two."),
    inputSchema: fc.constantFrom({ type: "object", title: "T" }, { title: "T", type: "object" }),
  }),
  { selector: ({ name }) => name },
);
const edits = fc.array(
  fc.record({ messages: messageLists, tools: toolLists, system: fc.option(fc.string(), { nil: undefined }) }),
  {
    minLength: 4,
    maxLength: 4,
  },
);

describe("diffRequests", () => {
  it("returns all changes that turn the previous request into the next one", async () => {
    await fc.assert(
      fc.asyncProperty(edits, async (list) => {
        const requests = requestsOf(await logEdited(optionsFor(3), ({ iteration }) => list[iteration] ?? {}));
        for (const [at, next] of requests.entries()) {
          const previous = requests[at - 1];
          if (previous === undefined) continue;
          const { messages, tools, system } = diffRequests(previous, next);
          expect(applyChanges(previous.messages(), messages)).toEqual(next.messages());
          expect(applyTools(previous.tools, tools)).toEqual(next.tools);
          if (system === undefined) expect(previous.system).toBe(next.system);
          else expect([joined(system, "added"), joined(system, "removed")]).toEqual([previous.system ?? "", next.system ?? ""]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("returns only added messages for a request that continues the previous one", async () => {
    const { log } = await logRun(optionsFor(4));
    const requests = log.runs.flatMap(requestsOf);
    for (const [at, next] of requests.entries()) {
      const previous = requests[at - 1];
      if (previous === undefined) continue;
      const difference = diffRequests(previous, next);
      expect(difference.messages.map(({ kind }) => kind)).toEqual(["kept", "added"]);
      expect(describeDifference(difference)).toBe("2 messages added, tools unchanged, prefix kept 100%");
    }
  });

  it("reports masked messages separately from edited messages", async () => {
    const { log } = await logRun(optionsFor(3, { middleware: [maskResults({ keepIterations: 1, minTokens: 0 })] }));
    const [run] = log.runs;
    if (run === undefined) throw new Error("The log has no run.");
    const masking = findMasking(run);
    expect([...masking]).toEqual([
      ["call_i0_0", 2],
      ["call_i1_0", 3],
    ]);
    const [, previous, next] = requestsOf(run);
    if (previous === undefined || next === undefined) throw new Error("The log has no third request.");
    expect(diffRequests(previous, next, maskedUpTo(masking, 2)).messages.map(({ kind }) => kind)).toEqual([
      "kept",
      "masked",
      "added",
    ]);
    const [found] = findCacheBreaks(run);
    expect(describeDifference(diffRequests(previous, next, maskedUpTo(masking, 2)), found)).toMatch(
      /^2 messages added, 1 masked, tools unchanged, prefix kept [1-9]\d%$/,
    );
    expect(diffRequests(previous, next).messages[1]?.kind).toBe("edited");
    expect(findOriginal(run, "call_i0_0")?.result).toMatch(/^A long result/);
    expect(findOriginal(run, "no such call")).toBe(undefined);
  });

  it("returns the settings that differ, with both values", async () => {
    const requests = requestsOf(
      await logEdited(
        { ...optionsFor(1), modelSettings: { temperature: 0, seed: 1 } },
        editAt(1, () => ({ settings: { temperature: 1, seed: 1 }, toolChoice: "none" })),
      ),
    );
    const [previous, next] = requests;
    if (previous === undefined || next === undefined) throw new Error("The log has no second request.");
    const difference = diffRequests(previous, next);
    expect(difference.fields).toEqual([
      { name: "toolChoice", before: undefined, after: "none" },
      { name: "settings.temperature", before: 0, after: 1 },
    ]);
    expect(describeDifference(difference)).toContain("toolChoice and temperature changed");
  });

  it("recognizes kept messages after an inserted message", async () => {
    const run = await logEdited(
      optionsFor(3),
      editMessages((messages, iteration) => (iteration === 3 ? [user("Before."), ...messages] : messages)),
    );
    const [previous, next] = requestsOf(run).slice(2);
    if (previous === undefined || next === undefined) throw new Error("The log has no fourth request.");
    expect(diffRequests(previous, next).messages).toMatchObject([
      { kind: "added", nextIndex: 0, after: [user("Before.")] },
      { kind: "kept", index: 0, nextIndex: 1, count: 5 },
      { kind: "added", index: 5, nextIndex: 6 },
    ]);
  });
});

describe("diffTexts", () => {
  const texts = fc.array(fc.constantFrom("a", "b ", "\n", "😀", "\r\n", "c"), { maxLength: 30 }).map((parts) => parts.join(""));

  it.for(["lines", "words"] as const)("returns %s from which both strings can be rebuilt", (unit) => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const pieces = diffTexts(before, after, unit);
        expect([joined(pieces, "added"), joined(pieces, "removed")]).toEqual([before, after]);
      }),
    );
  });

  it("returns a single changed character between equal ends of 200,000 characters", () => {
    const long = "x".repeat(200_000);
    expect(diffTexts(`${long}😀${long}`, `${long}😁${long}`)).toEqual([
      { kind: "same", text: long },
      { kind: "removed", text: "😀" },
      { kind: "added", text: "😁" },
      { kind: "same", text: long },
    ]);
  });

  it("returns one removed part and one added part for long strings that share only the ends", () => {
    const count = (from: number): string => Array.from({ length: 6_000 }, (_item, at) => `line ${from + at}`).join("\n");
    expect(diffTexts(`same\n${count(0)}`, `same\n${count(10_000)}`).map(({ kind }) => kind)).toEqual([
      "same",
      "removed",
      "added",
      "same",
    ]);
  });
});
