import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  type Journal,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Tool,
  type UserMessage,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, type MockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { play, tool } from "../play.ts";
import { question } from "./nesting.ts";

const message: UserMessage = { role: "user", content: "In Celsius, please." };

type When = "during a stop" | "during a drain" | "beside a call that waits" | "while the run waits";
const times: readonly When[] = ["during a drain", "beside a call that waits", "while the run waits"];

interface Stage {
  readonly told: { readonly inner: Set<unknown>; readonly outer: Set<unknown> };
  readonly results: LoopResult[];
  readonly said: string[];
  run(options?: Partial<LoopOptions>): Promise<LoopResult>;
}

/** The innermost run is steered once, with a control of its own. */
function setUp(when: When, levels = 1, slow: () => void = () => {}): Stage {
  const told: Stage["told"] = { inner: new Set(), outer: new Set() };
  const results: LoopResult[] = [];
  const said: string[] = [];
  const clock = createTestClock();
  let control = createLoopControl();
  const steer = (): void => void (said.length === 0 && said.push(control.steer(message)));
  const model = (hears: Set<unknown>, calls: readonly string[], answer: string): MockProvider =>
    createMockProvider(({ messages }) => {
      for (const said of messages) if (said.role === "user") hears.add(said.content);
      return messages.some(({ role }) => role === "assistant") ? text(answer) : calls.map((name) => toolCall(name));
    });
  const act = tool("act", () => {
    if (when === "during a stop") control.stop();
    if (when === "during a drain") control.drain();
    if (when !== "while the run waits") steer();
  });
  const calls = when === "during a drain" || when === "during a stop" ? ["act"] : ["act", "pay"];
  const tools = [act, tool("pay", () => 1, { needsApproval: true })];
  let agent: Tool = defineAgentTool({
    name: "agent",
    description: "agent",
    inputSchema: { type: "object" },
    prepare: () => {
      control = createLoopControl();
      return { messages: question, control, tools, provider: model(told.inner, calls, "Inside.") };
    },
    toResult: (result) => (results.push(result), result.text),
  });
  for (let level = 1; level < levels; level += 1) {
    const within = agent;
    const provider = model(told.outer, ["agent"], "Between.");
    agent = defineAgentTool({ ...within, prepare: () => ({ messages: question, tools: [within], provider }) });
  }
  const beside = tool("beside", async () => {
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, 10));
    if (when === "while the run waits") steer();
    slow();
  });
  const provider = model(told.outer, ["agent", "beside"], "Done.");
  const run = async (options: Partial<LoopOptions> = {}): Promise<LoopResult> => {
    const { result } = play([], { provider, runId: "r", tools: [agent, beside], clock, ...options });
    await clock.runAll();
    return result;
  };
  return { told, results, said, run };
}

const decided = ({ reason }: LoopResult): Pick<LoopOptions, "answers"> =>
  reason.kind === "approval-required"
    ? { answers: Object.fromEntries(reason.calls.map(({ id }) => [id, { kind: "approve" as const }])) }
    : {};

const stores: readonly (readonly [what: string, make: () => (last?: LoopResult) => Journal])[] = [
  ["result.journal", () => (last) => last?.journal ?? memoryJournal()],
  [
    "a saved memory journal",
    () => (last) => memoryJournal(last === undefined ? undefined : JSON.parse(JSON.stringify(last.journal))),
  ],
  [
    "a durable journal",
    () => {
      const store = createDurableStore();
      return () => store.open();
    },
  ],
];

describe("control.steer() on a nested run", () => {
  it.for(
    times.flatMap((when) => stores.flatMap(([where, make]) => [1, 2].map((levels) => [levels, when, where, make] as const))),
  )(
    "at nesting level %d returns the message in result.undelivered if called %s (journal: %s)",
    async ([levels, when, , make]) => {
      const { told, said, run } = setUp(when, levels);
      const open = make();
      const first = await run({ journal: open() });
      expect([said, first.status, first.undelivered]).toEqual([["accepted"], "suspended", [message]]);
      const control = createLoopControl();
      for (const one of first.undelivered) control.steer(one);
      const second = await run({ journal: open(first), control, ...decided(first) });
      expect([second.status, second.text, second.undelivered]).toEqual(["completed", "Done.", []]);
      expect([told.inner.has(message.content), told.outer.has(message.content)]).toEqual([false, true]);
    },
  );

  it("puts the message into result.undelivered before a later message to the outer run", async () => {
    const control = createLoopControl();
    const { run } = setUp("during a drain", 1, () => control.steer("Later."));
    const { undelivered } = await run({ control });
    expect(undelivered.map(({ content }) => content)).toEqual([message.content, "Later."]);
  });

  it("puts the message into result.undelivered, even in a replay", async () => {
    const { run } = setUp("during a drain");
    const first = await run();
    expect((await run({ journal: replayJournal(first.journal) })).undelivered).toEqual(first.undelivered);
  });

  it.for(times.flatMap((when) => ([1, 2] as const).map((levels) => [levels, when] as const)))(
    "at nesting level %d returns the message if called %s before a stop of the outermost run",
    async ([levels, when]) => {
      const control = createLoopControl();
      const { run } = setUp(when, levels, () => control.stop());
      const first = await run({ control });
      expect([first.status, first.undelivered]).toEqual(["stopped-by-user", [message]]);
      expect((await run({ journal: first.journal })).undelivered).toEqual([message]);
    },
  );

  it("puts the message into the result that toResult receives if only the nested run is stopped", async () => {
    const { results, run } = setUp("during a stop");
    const { status, undelivered } = await run();
    expect([status, undelivered]).toEqual(["completed", []]);
    expect(results.map((inner) => [inner.status, inner.undelivered])).toEqual([["stopped-by-user", [message]]]);
  });

  it.for<[verb: string, end: (control: LoopControl) => unknown]>([
    ["stopped", (control) => [control.steer(message), control.stop()]],
    ["interrupted", (control) => control.interrupt(message)],
  ])("puts the message into result.undelivered if the nested run is %s, and its tool has no toResult", async ([, end]) => {
    const control = createLoopControl();
    const agent = defineAgentTool({
      name: "agent",
      description: "agent",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: question, control, provider: createMockProvider([text("Inside.")]) }),
    });
    end(control);
    const { result, options } = play([toolCall("agent"), text("Done.")], { tools: [agent], journal: memoryJournal() });
    const { status, undelivered, journal } = await result;
    expect([status, undelivered]).toEqual(["completed", [message]]);
    expect((await play([], { ...options, journal: replayJournal(journal) }).result).undelivered).toEqual([message]);
  });
});
