import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { approve } from "../../src/core/middleware/approve.ts";
import { finalAnswer } from "../../src/core/middleware/final-answer.ts";
import { onIteration, prepareIteration, stopWhen } from "../../src/core/middleware/iteration-hooks.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { Middleware } from "../../src/core/types/middleware.ts";
import { waitsOf } from "../../src/core/loop/durability/waiting-calls.ts";

const messages = [{ role: "user", content: "Go." }] as const;

function setUp(middleware: readonly Middleware[], script = [[toolCall("pay", { amount: 5 })], [text("Paid.")]], traits = {}) {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: { type: "object" },
    ...traits,
    execute: (args: unknown) => {
      paid.push(args);
      return "done";
    },
  });
  const provider = createMockProvider(({ iteration }) => script[iteration] ?? [text("More.")]);
  const journal = recordSteps();
  const run = (more: object = {}): ReturnType<typeof runToolLoop> =>
    runToolLoop({ provider, tools: [pay], messages, middleware, journal, runId: "r", ...more });
  return { paid, provider, run };
}

describe("approve", () => {
  it.for([
    ["approve", { kind: "approve" }, [{ amount: 5 }], "completed"],
    ["modify", { kind: "modify", args: { amount: 3 } }, [{ amount: 3 }], "completed"],
    ["deny", { kind: "deny", reason: "Too much." }, [], "denied"],
  ] as const)("waits for a decision, and obeys the answer %s", async ([, answer, args, outcome]) => {
    const { paid, run } = setUp([approve(() => ({ kind: "ask" }))]);
    const first = await run();
    expect([first.status, paid]).toEqual(["suspended", []]);
    const [wait] = waitsOf(first);
    expect(wait?.facts).toMatchObject({ name: "pay", args: { amount: 5 } });
    const second = await run({ answers: { [wait?.id ?? ""]: answer } });
    expect([second.text, paid, second.calls.map((call) => call.outcome)]).toEqual(["Paid.", args, [outcome]]);
  });

  it.for<[what: string, needsApproval: (args: never) => unknown]>([
    ["that need it because of a default in their schema", ({ amount }: { readonly amount: number }) => amount > 100],
    ["whose needsApproval returns undefined", () => undefined],
  ])("waits for a decision about calls %s", async ([, needsApproval]) => {
    const inputSchema = z.object({ amount: z.number().default(900) });
    const execute = (): string => "paid";
    const pay = defineTool({ name: "pay", description: "Pays", inputSchema, execute, needsApproval: needsApproval as never });
    const { run } = setUp([approve()], [[toolCall("pay", {})], [text("Paid.")]]);
    expect((await run({ tools: [pay] })).status).toBe("suspended");
  });

  it("refuses an answer that no call is waiting for, before any request is sent", async () => {
    const { provider, run } = setUp([approve(() => ({ kind: "ask" }))]);
    await expect(run({ answers: { call_9: { kind: "approve" } } })).rejects.toMatchObject({ code: "unknown-decision" });
    expect(provider.calls).toBe(0);
  });

  it("refuses a resumed run with different middleware", async () => {
    const { run } = setUp([approve(() => ({ kind: "ask" }))]);
    await run();
    const rejection = { code: "journal-mismatch", details: { field: "middleware" } };
    const other: Middleware = { name: "other", request: (request, next) => next(request) };
    await expect(run({ middleware: [other] })).rejects.toMatchObject(rejection);
  });
});

describe("a tool with needsApproval", () => {
  it("waits for a decision even if no middleware decides", async () => {
    const { paid, run } = setUp([], undefined, { needsApproval: true });
    const first = await run();
    expect([first.status, paid]).toEqual(["suspended", []]);
    const second = await run({ answers: { [waitsOf(first)[0]?.id ?? ""]: { kind: "approve" } } });
    expect([second.text, paid.length]).toEqual(["Paid.", 1]);
  });
});

describe("the `ends` hook", () => {
  it.for([1, 2])("does not end a resumed run while recorded work is replayed (recorded call steps: %i)", async (kept) => {
    let isEnded = false;
    const ending = { status: "error", reason: { kind: "loop-detected", toolName: "pay", count: 1 } } as const;
    const ends: Middleware = {
      name: "ends",
      pure: true,
      ends: ({ phase }) => (isEnded && phase === "answer" ? ending : undefined),
    };
    const { paid, provider, run } = setUp([ends]);
    const records = new Map<string, unknown>();
    const journal = recordSteps(records);
    const first = await run({ journal });
    const keys = [...records.keys()];
    const from = keys.findIndex((key) => key.startsWith("i0/call/"));
    const cut = new Map([...records].slice(0, from + kept));
    isEnded = true;
    const again = await run({ journal: recordSteps(cut), provider: createMockProvider([[text("More.")], [text("Paid.")]]) });
    expect([again.messages.slice(0, 3), paid.length, provider.calls]).toEqual([first.messages.slice(0, 3), 1, 2]);
  });
});

describe("the hooks between iterations", () => {
  it("end the run if onIteration requests it, and keep the iteration's calls", async () => {
    const { paid, run } = setUp([onIteration(() => ({ abort: true, reason: "Enough." }))]);
    const { reason, iterations } = await run();
    expect([reason, iterations, paid.length]).toEqual([{ kind: "iteration-abort", reason: "Enough." }, 1, 1]);
  });

  it("keep tools from the model if prepareIteration hides them", async () => {
    const { paid, run } = setUp([prepareIteration(() => ({ tools: [] }))]);
    const { calls } = await run();
    expect([calls.map(({ outcome }) => outcome), paid]).toEqual([["unknown-tool"], []]);
  });

  it("end the run before its calls if a stop condition is met", async () => {
    const { paid, run } = setUp([stopWhen([() => ({ kind: "stop", reason: "Seen." })])]);
    const { reason, messages: all } = await run();
    expect([reason, paid]).toEqual([{ kind: "stop-condition", reason: "Seen." }, []]);
    expect(all.at(-1)).toMatchObject({ role: "tool", results: [{ outcome: "not-run" }] });
  });

  it("let the model answer once more after a limit is reached", async () => {
    const { run } = setUp([finalAnswer()]);
    const { reason, text: said, finalAnswer: isFinal } = await run({ limits: { maxIterations: 1 } });
    expect([reason.kind, said, isFinal]).toEqual(["max-iterations", "Paid.", true]);
  });
});
