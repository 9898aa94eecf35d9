import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  detectLoops,
  finalAnswer,
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Middleware,
  onIteration,
  processResults,
  runToolLoop,
  stopWhen,
  structuredOutput,
} from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { makeFolder } from "./folder.ts";
import { factsIn, factsOf } from "./inspection.ts";
import { counted, defers, inner, looks, optionsFor, own, say, strict, waits } from "./inspection-stage.ts";

const busy = fail({ status: 400, message: "no" });
const misfit: readonly Middleware[] = [structuredOutput(strict, { maxRetries: 1 })];
const hooks: readonly Middleware[] = [onIteration(() => undefined)];

/** The first of `executions` starts the run, and each of the others resumes it. */
const runs: readonly (readonly [what: string, turns: readonly MockMessage[], executions: readonly Partial<LoopOptions>[]])[] = [
  ["answered", [[toolCall("look"), toolCall("look"), counted], text("Done.")], [{}]],
  ["gave an empty answer", [text("")], [{}]],
  [
    "made invalid calls",
    [[toolCall("nope"), toolCall("strict", { n: "1" }), toolCall("look", {}, { rawArgs: "{" })], text("Done.")],
    [{}],
  ],
  ["reached maxToolCalls", [[toolCall("look"), toolCall("look")], text("Done.")], [{ limits: { maxToolCalls: 1 } }]],
  [
    "reached maxToolCalls, and then waits for approval under a higher limit",
    [[toolCall("look"), toolCall("pay"), toolCall("look")], text("Done.")],
    [{ limits: { maxToolCalls: 1 } }, {}],
  ],
  ["reached maxIterations", looks, [{ limits: { maxIterations: 2 } }]],
  ["continued under a higher limit", looks, [{ limits: { maxIterations: 1 } }, { limits: { maxIterations: 3 } }, {}]],
  ["ended earlier under a lower limit", looks, [{}, { limits: { maxIterations: 2 } }]],
  [
    "was retried at maxIterations, and then continued under a higher limit",
    looks,
    [{ limits: { maxIterations: 2 } }, { limits: { maxIterations: 2 }, resume: "retry-last" }, {}],
  ],
  [
    "gave a final answer at maxIterations",
    [toolCall("look"), text("So.")],
    [{ limits: { maxIterations: 1 }, middleware: [finalAnswer()] }],
  ],
  [
    "gave a final answer, and continued under a higher limit",
    [toolCall("look"), text("So.")],
    [{ limits: { maxIterations: 1 }, middleware: [finalAnswer()] }, { middleware: [finalAnswer()] }],
  ],
  [
    "gave a final answer at maxToolCalls",
    [[toolCall("look"), toolCall("look")], toolCall("look"), text("So.")],
    [{ limits: { maxToolCalls: 1 }, middleware: [finalAnswer()] }],
  ],
  ["failed", [toolCall("look"), busy], [{}]],
  ["failed, and failed again after a retry", [toolCall("look"), busy], [{}, { resume: "retry-last" }, {}]],
  ["failed, and succeeded after a retry", [toolCall("look"), busy], [{}, { resume: "retry-last", provider: say(looks) }]],
  ["was ended by a tool", [toolCall("over")], [{}]],
  ["was ended by a tool, with an onIteration hook", [toolCall("over")], [{ middleware: hooks }]],
  ["continued after an onIteration hook", [toolCall("look"), text("Done.")], [{ middleware: hooks }]],
  [
    "was aborted by an onIteration hook",
    [toolCall("look")],
    [{ middleware: [onIteration(() => ({ abort: true, reason: "no" }))] }],
  ],
  ["was stopped by stopWhen", looks, [{ middleware: [stopWhen(({ iteration }) => iteration === 2)] }]],
  ["gave an answer that failed output validation", [text("1"), text("2")], [{ middleware: misfit }]],
  [
    "was resumed with one more output retry",
    [text("1"), text("2"), text("3")],
    [{ middleware: misfit }, { middleware: [structuredOutput(strict, { maxRetries: 2 })] }],
  ],
  ["was stopped by loop detection", looks, [{ middleware: [detectLoops({ threshold: 2, action: "stop" })] }]],
  [
    "was warned by loop detection",
    [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")],
    [{ middleware: [detectLoops({ threshold: 2, action: "inject-warning" })] }],
  ],
  [
    "changed its tool results with a processor",
    looks,
    [{ middleware: [processResults({ processor: (_, output) => `${output}!` })] }],
  ],
  ["has costs", looks, [{ pricing: ({ totalTokens }) => totalTokens / 1_000 }]],
  ["waits for two approvals", waits, [{}]],
  [
    "has a call over maxToolCalls that needs approval",
    [[toolCall("look"), toolCall("pay", { n: 1 })], text("Done.")],
    [{ limits: { maxToolCalls: 1 } }, { limits: { maxToolCalls: 1 } }, { limits: { maxToolCalls: 1 } }],
  ],
  ["got one of its two decisions", waits, [{}, { answers: { [own]: { kind: "deny", reason: "no" } } }]],
  ["got both decisions", waits, [{}, { answers: { [own]: { kind: "approve" }, [inner]: { kind: "approve" } } }]],
  [
    "got one postponed decision and one modified call",
    waits,
    [{ answers: {} }, { answers: { [own]: { kind: "ask" }, [inner]: { kind: "modify", args: { n: 9 } } } }],
  ],
  ["waits for two results", defers, [{}]],
  ["got one of its two results", defers, [{}, { answers: { [own]: { kind: "result", result: [1] } } }]],
  [
    "got a result and a failure",
    defers,
    [{}, { answers: { [own]: { kind: "failed", error: "broken" }, [inner]: { kind: "result", result: null } } }, {}],
  ],
  [
    "got a decision and then a result",
    [toolCall("sign"), text("Done.")],
    [
      {},
      { answers: { [own]: { kind: "modify", args: { n: 2 } } } },
      { answers: { [`${own}#2`]: { kind: "result", result: "signed" } } },
    ],
  ],
];

/** Each `make` returns a function that reopens the journal of the previous execution. */
const stores: readonly (readonly [where: string, make: () => (last?: LoopResult) => Journal])[] = [
  [
    "a journal file",
    () => {
      const path = join(makeFolder(), "run.jsonl");
      return () => fileJournal(path, { fsync: false });
    },
  ],
  ["a memory journal", () => (last) => memoryJournal(last && JSON.parse(JSON.stringify(last.journal)))],
  [
    "a custom durable journal",
    () => {
      const store = createDurableStore();
      return () => store.open();
    },
  ],
];

describe.for(stores)("inspectJournal of %s", ([, make]) => {
  it.for(runs)("matches the result of a run that %s", async ([, turns, executions]) => {
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
