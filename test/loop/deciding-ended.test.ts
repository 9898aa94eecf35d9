import { describe, expect, it } from "vitest";
import { type Journal, type LoopOptions, memoryJournal, onIteration, type SavedJournal } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { nesting, question, tokens } from "./nested/nesting.ts";
import { outcomesOf, play, type Playing, tool } from "./play.ts";

const kinds = ["approve", "deny", "modify"] as const;

type Ends = (playing: { readonly control: Playing["control"]; readonly abort: AbortController }) => Partial<LoopOptions>;

const nothing = {};
const cutting: readonly (readonly [what: string, ends: Ends, reason: string, always?: Partial<LoopOptions>])[] = [
  ["control.stop()", ({ control }) => (control.stop(), nothing), "stopped"],
  ["control.kill()", ({ control }) => (control.kill(), nothing), "killed"],
  ["an aborted signal", ({ abort }) => (abort.abort(), nothing), "aborted"],
  ["a drain and then a stop", ({ control }) => (control.drain(), control.stop(), nothing), "stopped"],
  ["an interrupt and then a stop", ({ control }) => (control.interrupt("Wait."), control.stop(), nothing), "stopped"],
  ["a stop, with resume: retry-last", ({ control }) => (control.stop(), { resume: "retry-last" }), "stopped"],
  [
    "a stop, with an onIteration hook",
    ({ control }) => (control.stop(), nothing),
    "stopped",
    { middleware: [onIteration(() => undefined)] },
  ],
];
const later: readonly (readonly [what: string, ends: Ends, reason: string])[] = [
  ["control.drain()", ({ control }) => (control.drain(), nothing), "drained"],
  ["control.interrupt()", ({ control }) => (control.interrupt("Wait."), nothing), "answered"],
  ["control.steer()", ({ control }) => (control.steer("Hurry."), nothing), "answered"],
  ["the limit maxIterations: 1", () => ({ limits: { maxIterations: 1 } }), "max-iterations"],
  ["the limit maxTokens: 10", () => ({ limits: { maxTokens: 10 } }), "max-tokens"],
  ["the limit maxCostUSD: 1", () => ({ limits: { maxCostUSD: 1 } }), "max-cost"],
];

interface Stage {
  readonly ran: string[];
  start(more?: Partial<LoopOptions>, ends?: Ends): Playing;
}

function setUp(isNested: boolean, open: () => Journal, always?: Partial<LoopOptions>): Stage {
  const ran: string[] = [];
  const pay = tool("pay", () => void ran.push("pay"), { needsApproval: true });
  const agent = nesting("agent tool", "agent", () => ({
    messages: question,
    provider: createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay") : text("Inside."))),
    tools: [pay],
  }));
  const name = isNested ? "agent" : "pay";
  const provider = createMockProvider(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? [text("Done."), tokens(10)] : [toolCall(name), tokens(10)],
  );
  const start: Stage["start"] = (more = {}, ends = () => nothing) =>
    play([], (stage) => ({
      runId: "r",
      provider,
      tools: [isNested ? agent : pay],
      pricing: ({ totalTokens }) => totalTokens / 10,
      journal: open(),
      ...always,
      ...more,
      ...ends(stage),
    }));
  return { ran, start };
}

function durable(): () => Journal {
  const store = createDurableStore();
  return () => store.open();
}

function inMemory(): () => Journal {
  const steps: { [key: string]: SavedJournal["steps"][string] } = {};
  return () => {
    const journal = memoryJournal({ steps: JSON.parse(JSON.stringify(steps)) });
    const save = (): void => void Object.assign(steps, JSON.parse(JSON.stringify(journal.toJSON().steps)));
    return {
      ...journal,
      step: async (key, body) => {
        const answer = await journal.step(key, body);
        save();
        return answer;
      },
      open: () => Promise.resolve(() => Promise.resolve(save())),
    };
  };
}

const decisionOf = (kind: (typeof kinds)[number]): NonNullable<LoopOptions["answers"]>[string] =>
  kind === "modify" ? { kind, args: { edited: true } } : { kind };

const stages = [true, false].flatMap((isNested) =>
  (
    [
      ["durable journal", durable],
      ["memory journal", inMemory],
    ] as const
  ).map(([what, open]) => ({ where: `${isNested ? "nested" : "top-level"} call with a ${what}`, isNested, open })),
);

describe.for(stages.map((stage) => [stage.where, stage] as const))("options.answers for a %s", ([, { isNested, open }]) => {
  const id = isNested ? "call_i0_0/call_i0_0" : "call_i0_0";

  it.for(cutting.flatMap(([what, ends, reason, always]) => kinds.map((kind) => [what, ends, reason, kind, always] as const)))(
    "can be passed again after a run that was ended by %s (decision: $3)",
    async ([, ends, reason, kind, always]) => {
      const { ran, start } = setUp(isNested, open(), always);
      expect((await start().result).reason.kind).toBe("approval-required");
      const answers = { [id]: decisionOf(kind) };
      for (let times = 0; times < 2; times += 1) {
        const cut = start({ answers }, ends);
        const { reason: ended } = await cut.result;
        expect([ended.kind, ran, cut.clock.pending]).toEqual([reason, [], 0]);
      }
      expect((await start().result).reason.kind).toBe("approval-required");
      const done = await start({ answers }).result;
      expect([done.text, ran.length]).toEqual(["Done.", kind === "deny" ? 0 : 1]);
      expect((await start({ answers }).result).messages).toEqual(done.messages);
    },
  );

  // Token and cost limits would also end a nested run, so calls of nested runs are not tested with these limits.
  it.for(later.filter(([, , reason]) => !isNested || !/tokens|cost/.test(reason)))(
    "let an approved call run only once if the run is resumed after %s",
    async ([, ends, reason]) => {
      const { ran, start } = setUp(isNested, open());
      await start().result;
      const answers = { [id]: { kind: "approve" } } as const;
      const second = await start({ answers }, ends).result;
      expect([second.reason.kind, ran, outcomesOf(second)]).toEqual([reason, ["pay"], ["call_i0_0: completed"]]);
      const third = await start({ answers, resume: "retry-last" }).result;
      expect([third.text, ran]).toEqual(["Done.", ["pay"]]);
    },
  );
});
