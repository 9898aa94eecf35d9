// After each execution a journal says of its run what the result of that execution says.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  detectLoops,
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  processResults,
  runToolLoop,
  structuredOutput,
} from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { makeFolder } from "./folder.ts";
import { factsIn, factsOf } from "./inspection.ts";
import { counted, inner, looks, optionsFor, own, say, strict, waits } from "./inspection-stage.ts";

const busy = fail({ status: 400, message: "no" });
const misfit: LoopOptions["policies"] = { output: structuredOutput(strict, { maxRetries: 1 }) };
const hooks: LoopOptions["hooks"] = { onIteration: () => undefined };

/** Executions of one run, each with the options that differ. */
const runs: readonly (readonly [what: string, turns: readonly MockMessage[], executions: readonly Partial<LoopOptions>[]])[] = [
  ["answered", [[toolCall("look"), toolCall("look"), counted], text("Done.")], [{}]],
  ["said nothing", [text("")], [{}]],
  [
    "refused calls",
    [[toolCall("nope"), toolCall("strict", { n: "1" }), toolCall("look", {}, { rawArgs: "{" })], text("Done.")],
    [{}],
  ],
  ["came to its limit of tool calls", [[toolCall("look"), toolCall("look")], text("Done.")], [{ limits: { maxToolCalls: 1 } }]],
  [
    "came to its limit of tool calls, and waits for people under a higher one",
    [[toolCall("look"), toolCall("pay"), toolCall("look")], text("Done.")],
    [{ limits: { maxToolCalls: 1 } }, {}],
  ],
  ["came to its limit of iterations", looks, [{ limits: { maxIterations: 2 } }]],
  ["went on with a higher limit", looks, [{ limits: { maxIterations: 1 } }, { limits: { maxIterations: 3 } }, {}]],
  ["ended earlier with a lower limit", looks, [{}, { limits: { maxIterations: 2 } }]],
  [
    "was tried again at its limit, and then had a higher one",
    looks,
    [{ limits: { maxIterations: 2 } }, { limits: { maxIterations: 2 }, resume: "retry-last" }, {}],
  ],
  ["had a last word", [toolCall("look"), text("So.")], [{ limits: { maxIterations: 1 }, policies: { finalAnswer: true } }]],
  [
    "had a last word, and went on with a higher limit",
    [toolCall("look"), text("So.")],
    [{ limits: { maxIterations: 1 }, policies: { finalAnswer: true } }, { policies: { finalAnswer: true } }],
  ],
  [
    "had a last word after too many tool calls",
    [[toolCall("look"), toolCall("look")], toolCall("look"), text("So.")],
    [{ limits: { maxToolCalls: 1 }, policies: { finalAnswer: true } }],
  ],
  ["failed", [toolCall("look"), busy], [{}]],
  ["failed, and failed again", [toolCall("look"), busy], [{}, { resume: "retry-last" }, {}]],
  ["failed, and was tried again", [toolCall("look"), busy], [{}, { resume: "retry-last", provider: say(looks) }]],
  ["ended with a tool", [toolCall("over")], [{}]],
  ["ended with a tool, under a hook", [toolCall("over")], [{ hooks }]],
  ["went on after a hook", [toolCall("look"), text("Done.")], [{ hooks }]],
  ["was ended by a hook", [toolCall("look")], [{ hooks: { onIteration: () => ({ abort: true, reason: "no" }) } }]],
  ["was stopped by a condition", looks, [{ policies: { stopWhen: ({ iteration }) => iteration === 2 } }]],
  ["gave an answer that does not fit", [text("1"), text("2")], [{ policies: misfit }]],
  [
    "was asked once more for an answer that fits",
    [text("1"), text("2"), text("3")],
    [{ policies: misfit }, { policies: { output: structuredOutput(strict, { maxRetries: 2 }) } }],
  ],
  ["repeats itself", looks, [{ policies: { loopDetection: detectLoops({ threshold: 2, action: "stop" }) } }]],
  [
    "was told of its loops",
    [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")],
    [{ policies: { loopDetection: detectLoops({ threshold: 2, action: "inject-warning" }) } }],
  ],
  [
    "has results that were processed",
    looks,
    [{ policies: { results: processResults({ processor: (_, output) => `${output}!` }) } }],
  ],
  ["knows its costs", looks, [{ pricing: ({ totalTokens }) => totalTokens / 1_000 }]],
  ["waits for people", waits, [{}]],
  [
    "has a call beyond its limit that asks",
    [[toolCall("look"), toolCall("pay", { n: 1 })], text("Done.")],
    [{ limits: { maxToolCalls: 1 } }, { limits: { maxToolCalls: 1 } }, { limits: { maxToolCalls: 1 } }],
  ],
  ["was decided about in part", waits, [{}, { decisions: { [own]: { kind: "deny", reason: "no" } } }]],
  ["was decided about", waits, [{}, { decisions: { [own]: { kind: "approve" }, [inner]: { kind: "approve" } } }]],
  [
    "was put off, and edited",
    waits,
    [{ decisions: {} }, { decisions: { [own]: { kind: "ask" }, [inner]: { kind: "modify", args: { n: 9 } } } }],
  ],
];

/** The journals under test. Each opens its records anew for each execution. */
const stores: readonly (readonly [where: string, make: () => (last?: LoopResult) => Journal])[] = [
  [
    "a file",
    () => {
      const path = join(makeFolder(), "run.jsonl");
      return () => fileJournal(path, { fsync: false });
    },
  ],
  ["memory", () => (last) => memoryJournal(last && JSON.parse(JSON.stringify(last.journal)))],
  [
    "a journal of an engine",
    () => {
      const store = createDurableStore();
      return () => store.open();
    },
  ],
];

describe.for(stores)("inspectJournal of %s", ([, make]) => {
  it.for(runs)("of a run that %s says what the result says, after each execution", async ([, turns, executions]) => {
    const open = make();
    let last: LoopResult | undefined;
    for (const more of executions) {
      last = await runToolLoop({ ...optionsFor(turns, more), journal: open(last) });
      const inspection = await inspectJournal(open(last));
      expect(factsIn(inspection)).toEqual(factsOf(last));
      expect([inspection.runId, inspection.lastSeenMs]).toEqual(["run-1", expect.any(Number)]);
    }
  });
});
