import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  ask,
  createLoopControl,
  isLoopError,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
} from "turnwright";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { createOrderedStore } from "./ordered-store.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";
import { type Kind, nesting, question } from "./nesting.ts";

const holdPay: Approve = ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" });

interface Stage {
  readonly ran: string[];
  readonly inner: MockProvider;
  readonly start: (options?: Partial<LoopOptions>) => Playing;
}

/** The outer run calls an agent, `pay` and `look`. The agent calls `pay` and `look`. Only `pay` needs approval. */
function setUp(kind: Kind): Stage {
  const ran: string[] = [];
  const work = (name: string): ReturnType<typeof tool> => tool(name, (_, { idempotencyKey }) => void ran.push(idempotencyKey));
  const inner = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("pay"), toolCall("look")] : text("Paid inside."),
  );
  const agent = nesting(kind, "agent", () => ({
    messages: question,
    provider: inner,
    tools: [work("pay"), work("look")],
    middleware: [approve(holdPay)],
  }));
  const outer = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("agent"), toolCall("pay"), toolCall("look")] : text("Done."),
  );
  const start = (options: Partial<LoopOptions> = {}): Playing =>
    play([], {
      provider: outer,
      runId: "r",
      tools: [agent, work("pay"), work("look")],
      middleware: [approve(holdPay)],
      ...options,
    });
  return { ran, inner, start };
}

const savedOf = async ({ result }: Playing): Promise<ReturnType<typeof memoryJournal>> =>
  memoryJournal(JSON.parse(JSON.stringify((await result).journal)));

describe("a call waiting for approval in a nested run", () => {
  it("suspends the outer run until a decision names the call's path", async () => {
    const { ran, inner, start } = setUp("agent tool");
    const first = start();
    const result = await first.result;
    expect(result.reason).toMatchObject({
      kind: "approval-required",
      calls: [
        { id: "call_i0_0/call_i0_0", callId: "call_i0_0", name: "pay" },
        { id: "call_i0_1", callId: "call_i0_1", name: "pay" },
      ],
    });
    expect(result.pendingCalls.map(({ callId }) => callId)).toEqual(["call_i0_1"]);
    expect(ran).toEqual(["r/i0/call/2/look", "r/i0/call/0/agent/tool/run/i0/call/1/look"]);

    const half = start({ journal: await savedOf(first), answers: { call_i0_1: { kind: "approve" } } });
    expect((await half.result).reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0/call_i0_0" }] });

    const last = start({ journal: await savedOf(half), answers: { "call_i0_0/call_i0_0": { kind: "approve" } } });
    const done = await last.result;
    expect([done.text, answersOf(done)[0]?.result, outcomesOf(done)]).toEqual([
      "Done.",
      "Paid inside.",
      ["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: completed"],
    ]);
    expect(ran.slice(2)).toEqual(["r/i0/call/1/pay", "r/i0/call/0/agent/tool/run/i0/call/0/pay"]);
    expect([inner.calls, done.toolCallsExecuted]).toEqual([2, 5]);
  });

  it.for(["call_i0_0/call_i0_9", "call_i0_0/call_i0_1", "call_i0_9", "call_i0_9/call_i0_0"])(
    'makes a resumed run reject as "unknown-decision" if a decision names the path %s',
    async (id) => {
      const { ran, inner, start } = setUp("agent tool");
      const journal = await savedOf(start());
      const answers = { "call_i0_0/call_i0_0": { kind: "approve" }, [id]: { kind: "approve" } } as const;
      const thrown: unknown = await start({ journal, answers }).result.catch((error: unknown) => error);
      expect(isLoopError(thrown, "unknown-decision") && thrown.details).toEqual({
        call: id,
        waiting: ["call_i0_1", "call_i0_0/call_i0_0"],
      });
      expect([inner.calls, ran.length]).toEqual([1, 2]);
    },
  );

  it("does not run if another decision names an unknown call (journal with ordered steps)", async () => {
    const { ran, start } = setUp("agent tool");
    const { open } = createOrderedStore();
    await start({ journal: open() }).result;
    const answers = { "call_i0_0/call_i0_0": { kind: "approve" }, call_i0_9: { kind: "approve" } } as const;
    await expect(start({ journal: open(), answers }).result).rejects.toMatchObject({ code: "unknown-decision" });
    expect(ran.some((key) => key.endsWith("pay"))).toBe(false);
  });

  it("does not run if the nested run is killed by its own control, and the decision causes no error", async () => {
    const ran: string[] = [];
    const pay = tool("pay", () => void ran.push("pay"), { needsApproval: true });
    const inner = createMockProvider(() => toolCall("pay"));
    let control = createLoopControl();
    const agent = nesting("agent tool", "agent", () => ({ messages: question, provider: inner, tools: [pay], control }));
    const options: Partial<LoopOptions> = { runId: "r", tools: [agent] };
    const first = await play([toolCall("agent")], options).result;
    control = createLoopControl();
    control.kill();
    const answers = { "call_i0_0/call_i0_0": { kind: "approve" } } as const;
    const again = await play([text("Done.")], { ...options, journal: first.journal, answers }).result;
    expect([again.status, again.reason.kind, ran]).toEqual(["suspended", "approval-required", []]);
  });

  it("is denied if an ordinary tool started the nested run", async () => {
    const { ran, inner, start } = setUp("ordinary tool");
    const result = await start().result;
    expect(result.reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_1" }] });
    const [, , answer] = inner.requests[1]?.messages ?? [];
    expect(answer).toMatchObject({
      results: [{ outcome: "denied", result: { reason: "This call cannot request a decision." } }, { outcome: "completed" }],
    });
    expect(ran.some((key) => key.endsWith("pay"))).toBe(false);
  });
});

it("a decision for an agent tool and the second answer for a sibling call can be passed together", async () => {
  const book = tool(
    "book",
    async (_, context) => [await ask(context, { question: "City?" }), await ask(context, { question: "Name?" })],
    {
      durable: true,
    },
  );
  const inner = createMockProvider(() => text("Inside."));
  const agent = { ...nesting("agent tool", "agent", () => ({ messages: question, provider: inner })), needsApproval: true };
  const outer = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("agent"), toolCall("book")] : text("Done."),
  );
  const store = createDurableStore();
  const start = (answers: LoopOptions["answers"]): Promise<LoopResult> =>
    play([], { provider: outer, runId: "r", tools: [agent, book], journal: store.open(), answers }).result;
  await start({});
  await start({ call_i0_1: { kind: "result", result: "Oslo" } });
  const done = await start({ call_i0_0: { kind: "approve" }, "call_i0_1#2": { kind: "result", result: "Ann" } });
  expect([done.text, answersOf(done).map(({ result }) => result)]).toEqual(["Done.", ["Inside.", ["Oslo", "Ann"]]]);
});
