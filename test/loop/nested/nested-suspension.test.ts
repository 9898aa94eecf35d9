import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type Tool,
} from "turnwright";
import { createMockProvider, createTestClock, type MockMessage, recordEvents, text, toolCall, wait } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, never, outcomesOf, play, tool } from "../play.ts";
import { createOrderedStore } from "./ordered-store.ts";
import { kinds, nesting, pathsOf, question, scripted, spendingOf, tokens } from "./nesting.ts";

const control = createLoopControl();
const drain = tool("drain", () => void control.drain());
const ok = tool("ok", () => "fine");

interface Draining {
  readonly options: Omit<LoopOptions, "journal">;
  asked(): readonly number[];
}

function draining(levels: number, more: Partial<LoopOptions> = {}): Draining {
  const inner = scripted(
    ["agent tool", "inner"],
    [
      [toolCall("drain"), tokens(100)],
      [text("i"), tokens(1_000)],
    ],
    {
      control,
      tools: [drain],
    },
  );
  const middle = scripted(
    ["agent tool", "middle"],
    [
      [toolCall("inner"), tokens(20)],
      [text("m"), tokens(30)],
    ],
    { tools: [inner.tool] },
  );
  const top = levels === 2 ? inner : middle;
  const provider = createMockProvider([
    [toolCall(top === inner ? "inner" : "middle"), tokens(1)],
    [text("Done."), tokens(2)],
  ]);
  const providers = [provider, ...(levels === 2 ? [] : [middle.provider]), inner.provider];
  const options = { provider, tools: [top.tool, ok], messages: question, runId: "r", clock: createTestClock(), ...more };
  return { options, asked: () => providers.map(({ calls }) => calls) };
}

const saved = ({ journal }: LoopResult): Journal => memoryJournal(JSON.parse(JSON.stringify(journal)));

const stores: readonly (readonly [what: string, make: () => (last?: LoopResult) => Journal])[] = [
  ["the memory journal of the result", () => (last) => last?.journal ?? memoryJournal()],
  ["a saved memory journal", () => (last) => (last === undefined ? memoryJournal() : saved(last))],
  ["a durable journal", createDurableStoreOf],
  ["an ordered journal", createOrderedStoreOf],
];

function createDurableStoreOf(): () => Journal {
  const store = createDurableStore();
  return () => store.open();
}

function createOrderedStoreOf(): () => Journal {
  const store = createOrderedStore();
  return () => store.open();
}

describe("control.drain() on a nested run", () => {
  it.for(stores.flatMap(([what, make]) => [2, 3].map((levels) => [levels, what, make] as const)))(
    "suspends all %d levels, and a resumed run continues all of them (journal: %s)",
    async ([levels, , make]) => {
      const { options, asked } = draining(levels);
      const open = make();
      const recording = recordEvents();
      const first = await runToolLoop({ ...options, journal: open(), events: recording.emitter });
      expect([first.status, first.reason, outcomesOf(first)]).toEqual([
        "suspended",
        { kind: "drained" },
        ["call_i0_0: interrupted"],
      ]);
      expect(recording.of("run-end").map(({ status }) => status)).toEqual(Array.from({ length: levels }, () => "suspended"));
      expect([asked(), spendingOf(first)]).toEqual([
        Array.from({ length: levels }, () => 1),
        [levels === 2 ? 101 : 121, undefined, levels],
      ]);

      const again = recordEvents();
      const second = await runToolLoop({ ...options, journal: open(first), events: again.emitter });
      expect([second.status, second.text, answersOf(second)[0]?.result]).toEqual([
        "completed",
        "Done.",
        levels === 2 ? "i" : "m",
      ]);
      expect([asked(), spendingOf(second)]).toEqual([
        Array.from({ length: levels }, () => 2),
        [levels === 2 ? 1_103 : 1_153, undefined, levels],
      ]);
      expect(pathsOf(again.events, "run-end")).toHaveLength(levels);
      expect(again.of("tool-start").map(({ replayed }) => replayed)).toEqual(Array.from({ length: levels }, () => true));

      const third = await runToolLoop({ ...options, journal: open(second) });
      expect([third.text, third.usage, asked()]).toEqual(["Done.", second.usage, Array.from({ length: levels }, () => 2)]);
    },
  );

  it("suspends a resumed run again if called again", async () => {
    const inner = scripted(["agent tool", "inner"], [toolCall("drain"), toolCall("drain"), text("i")], {
      control,
      tools: [drain],
    });
    const provider = createMockProvider([toolCall("inner"), text("Done.")]);
    const options = { provider, tools: [inner.tool], messages: question, runId: "r" };
    const first = await runToolLoop(options);
    const second = await runToolLoop({ ...options, journal: saved(first) });
    const third = await runToolLoop({ ...options, journal: saved(second) });
    expect([first, second, third].map(({ status }) => status)).toEqual(["suspended", "suspended", "completed"]);
    expect([inner.provider.calls, provider.calls, third.toolCallsExecuted]).toEqual([3, 2, 3]);
  });

  it("lets parallel calls finish, and the resumed run does not repeat them", async () => {
    const ran: string[] = [];
    const work = tool("work", (_, { idempotencyKey }) => ran.push(idempotencyKey));
    const inner = scripted(["agent tool", "inner"], [toolCall("drain"), text("i")], { control, tools: [drain] });
    const other = scripted(["agent tool", "other"], [toolCall("work"), text("o")], { tools: [work] });
    const provider = createMockProvider([[toolCall("other"), toolCall("inner"), toolCall("work")], text("Done.")]);
    const options = { provider, tools: [inner.tool, other.tool, work], messages: question, runId: "r" };
    const first = await runToolLoop(options);
    expect([first.status, outcomesOf(first)]).toEqual([
      "suspended",
      ["call_i0_0: completed", "call_i0_1: interrupted", "call_i0_2: completed"],
    ]);
    const second = await runToolLoop({ ...options, journal: saved(first) });
    expect([second.text, outcomesOf(second).every((line) => line.endsWith("completed"))]).toEqual(["Done.", true]);
    expect([[...ran].sort(), other.provider.calls]).toEqual([
      ["r/i0/call/0/other/tool/run/i0/call/0/work", "r/i0/call/2/work"],
      2,
    ]);
  });

  it.for(kinds)("in an ordinary tool does not suspend the outer run, which is itself nested in an %s", async (kind) => {
    const inner = nesting("ordinary tool", "inner", () => ({
      messages: question,
      provider: createMockProvider([toolCall("drain"), text("i")]),
      control,
      tools: [drain],
    }));
    const outer = scripted([kind, "outer"], [toolCall("inner"), text("o")], { tools: [inner] });
    const playing = play([toolCall("outer"), text("Done.")], { tools: [outer.tool] });
    const result = await playing.result;
    expect([result.text, outcomesOf(result)]).toEqual(["Done.", ["call_i0_0: completed"]]);
    expect(outer.provider.requests[1]?.messages.at(-1)).toMatchObject({
      results: [{ result: { reason: "suspended: drained" } }],
    });
  });

  it("is not triggered by control.drain() on the outer run, which lets the nested run finish", async () => {
    const child = scripted(["agent tool", "child"], [[wait(10), toolCall("ok")], text("c")], { tools: [ok] });
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool] });
    await playing.clock.flush();
    playing.control.drain();
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.status, outcomesOf(result)]).toEqual(["suspended", ["call_i0_0: completed"]]);
  });
});

describe("a suspended nested run", () => {
  it.for(["stop", "kill", "abort"] as const)('never continues if "%s" ends the outer run', async (verb) => {
    const inner = scripted(["agent tool", "inner"], [toolCall("drain"), text("i")], { control, tools: [drain] });
    const playing = play([[toolCall("inner"), toolCall("hang")], text("Done.")], {
      tools: [inner.tool, tool("hang", () => never)],
      timeouts: { toolCleanupMs: 0 },
    });
    await playing.clock.flush();
    if (verb === "abort") playing.abort.abort();
    else playing.control[verb]();
    const { status, messages, journal } = await playing.result;
    expect([status, playing.clock.pending, inner.provider.calls]).toEqual(["stopped-by-user", 0, 1]);
    const again = play([], {
      ...playing.options,
      control: undefined,
      signal: undefined,
      journal: memoryJournal(JSON.parse(JSON.stringify(journal))),
    });
    expect((await again.result).messages).toEqual(messages);
    expect([again.options.provider === playing.provider, inner.provider.calls]).toEqual([true, 1]);
  });

  it.for(stores)("delays a later sequential call until the nested run has ended (journal: %s)", async ([, make]) => {
    const order: string[] = [];
    const alone = tool("alone", () => order.push("alone"), { sequential: true });
    const late = tool("late", () => order.push("late"));
    const inner = scripted(["agent tool", "inner"], [toolCall("drain"), toolCall("late"), text("i")], {
      control,
      tools: [drain, late],
    });
    const script: readonly MockMessage[] = [[toolCall("inner"), toolCall("alone")], text("Done.")];
    const tools: readonly Tool[] = [inner.tool, alone];
    const options = { provider: createMockProvider(script), tools, messages: question, runId: "r" };
    const open = make();
    const first = await runToolLoop({ ...options, journal: open() });
    expect(first.status).toBe("suspended");
    const second = await runToolLoop({ ...options, journal: open(first) });
    expect([second.text, order]).toEqual(["Done.", ["late", "alone"]]);
  });
});

describe("a waiting nested run with its own control", () => {
  it.for([
    ["before a slow call ends, if its slot is needed", 2],
    ["when the slow call ends, if there is a free slot", 3],
  ] as const)("does not delay the other calls, and ends %s", async ([, toolConcurrency]) => {
    const ended: string[] = [];
    const clock = createTestClock();
    const own = createLoopControl();
    const { tool: agent } = scripted(["agent tool", "agent"], [toolCall("pay"), text("Paid.")], {
      control: own,
      tools: [tool("pay", () => 1, { needsApproval: true })],
    });
    const slow = tool(
      "slow",
      () => new Promise<void>((resolve) => void clock.setTimeout(() => (ended.push("slow"), resolve()), 10)),
    );
    const quick = tool("quick", () => void ended.push("quick"));
    const playing = play([[toolCall("agent"), toolCall("slow"), toolCall("quick")], text("Done.")], {
      clock,
      tools: [agent, slow, quick],
      limits: { toolConcurrency },
    });
    await clock.advance(5);
    await clock.flush();
    expect(ended).toEqual(["quick"]);
    // The control takes messages as long as the nested run has not ended.
    const isOpen = toolConcurrency === 3;
    expect(own.steer("In euros.")).toBe(isOpen ? "accepted" : "finished");
    await clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, ended]).toEqual(["approval-required", ["quick", "slow"]]);
    expect(result.undelivered.map(({ content }) => content)).toEqual(isOpen ? ["In euros."] : []);
    expect([own.stop(), clock.pending]).toEqual(["finished", 0]);
  });
});
