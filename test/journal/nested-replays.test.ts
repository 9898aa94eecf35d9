import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  type LoopOptions,
  memoryJournal,
  type NestedLoopOptions,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { createMockProvider, createTestClock, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { plain, question } from "../loop/nested/nesting.ts";
import { play, tool } from "../loop/play.ts";
import { createLives, keepings, type OpenNext, playAgain } from "./keepings.ts";

/** The usual journals, and a journal that cannot say if a step is recorded. */
const all: readonly (readonly [name: string, make: () => OpenNext])[] = [
  ...keepings,
  ["a journal with only `step` and `all`", () => createDurableStore().open],
];

interface Service {
  readonly agent: Tool;
  readonly charged: () => number;
  readonly asked: () => number;
}

function openService(prepare: (own: NestedLoopOptions) => NestedLoopOptions | Promise<NestedLoopOptions>): Service {
  let charged = 0;
  let asked = 0;
  const charge = tool("charge", () => (charged += 1));
  const inner: readonly MockMessage[] = [[toolCall("charge"), usage({ inputTokens: 7, outputTokens: 1 })], text("inner")];
  const agent = defineAgentTool({
    name: "agent",
    description: "agent",
    inputSchema: { type: "object" },
    prepare: () => {
      const provider = createMockProvider(({ messages }) => {
        asked += 1;
        return inner[messages.filter(({ role }) => role === "assistant").length];
      });
      return prepare({ provider, messages: question, tools: [charge] });
    },
  });
  return { agent, charged: () => charged, asked: () => asked };
}

describe.for(all)("a nested run (%s)", ([, make]) => {
  it.for<[string, (own: NestedLoopOptions) => NestedLoopOptions | Promise<NestedLoopOptions>, Partial<LoopOptions>]>([
    ["prepare failed", () => Promise.reject(new Error("The settings service is down.")), {}],
    ["its options were invalid", (own) => ({ ...own, limits: { maxIterations: -1 } }), {}],
    ["maxDepth was exceeded", (own) => own, { limits: { maxDepth: 1 } }],
  ])("is not started by a replay if %s", async ([, failing, more]) => {
    let isDown = true;
    const { agent, charged, asked } = openService((own) => (isDown ? failing(own) : own));
    const open = make();
    const live = createLives(open, [agent]);
    const first = await live([toolCall("agent"), text("It failed.")], more);
    expect([first.result.text, first.result.functionHistory.map(({ outcome }) => outcome)]).toEqual(["It failed.", ["failed"]]);
    isDown = false;
    const again = await live([]);
    expect([plain(again.result), charged(), asked()]).toEqual([plain(first.result), 0, 0]);
    const replayed = await live([], { journal: playAgain(open) });
    expect([plain(replayed.result), charged(), asked()]).toEqual([plain(first.result), 0, 0]);
  });

  it("is not started by a replay if the outer run stopped during prepare", async () => {
    const control = createLoopControl();
    const { agent, charged, asked } = openService((own) => {
      control.stop();
      return Promise.resolve(own);
    });
    const live = createLives(make(), [agent]);
    const first = await live([toolCall("agent")], { control });
    expect(first.result.reason.kind).toBe("stopped");
    const again = await live([]);
    expect([plain(again.result), charged(), asked()]).toEqual([plain(first.result), 0, 0]);
  });
});

describe.for(keepings)("a nested run with its outcome in %s", ([, make]) => {
  it.for<[string, (own: NestedLoopOptions) => NestedLoopOptions]>([
    ["has a higher maxIterations", (own) => ({ ...own, limits: { maxIterations: 9 } })],
    ["has different messages", (own) => ({ ...own, messages: [{ role: "user", content: "Else?" }] })],
  ])("does not run again if its agent tool now %s", async ([, change]) => {
    let isChanged = false;
    const { agent, charged, asked } = openService((own) => (isChanged ? change(own) : { ...own, limits: { maxIterations: 1 } }));
    const live = createLives(make(), [agent]);
    const first = await live([toolCall("agent"), text("Done.")]);
    expect([first.result.text, charged(), asked()]).toEqual(["Done.", 1, 1]);
    isChanged = true;
    const again = await live([]);
    expect([plain(again.result), charged(), asked()]).toEqual([plain(first.result), 1, 1]);
  });
});

it("a nested run keeps its recorded usage if control.stop() is called before the outer run resumes", async () => {
  const clock = createTestClock();
  const { agent } = openService((own) => own);
  const first = play([toolCall("agent"), text("Done.")], { tools: [agent], clock });
  const { journal, streamResults } = await first.result;
  const { steps }: SavedJournal = JSON.parse(JSON.stringify(journal));
  const keys = Object.keys(steps);
  const kept = keys.slice(0, keys.indexOf("i0/call/0/agent/tool/run/i0/call/0/charge/outcome") + 1);
  const saved = memoryJournal({ steps: Object.fromEntries(kept.map((key) => [key, steps[key] ?? null])) });
  const control = createLoopControl();
  control.stop();
  const again = play([], { tools: [agent], clock, journal: saved, control });
  const { reason, usage: used, toolCallsExecuted } = await again.result;
  // The first request of the outer run, and the first request of the nested run.
  const recorded = (streamResults[0]?.usage?.totalTokens ?? 0) + 8;
  expect([reason.kind, used.totalTokens, toolCallsExecuted]).toEqual(["stopped", recorded, 2]);
});
