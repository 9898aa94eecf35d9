import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type LoopResult, memoryJournal, type SavedJournal } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { planLogs } from "turnwright/middleware";
import { createMockProvider, type MockMessage, text, wait } from "turnwright/testing";
import { makeFolder } from "../journal/folder.ts";
import { Crash, createDurableStore, type DurableStore } from "../loop/durable-store.ts";
import { comesTo, live, liveOn, type Lived } from "./crash-stage.ts";
import { leave, playOver } from "./leaving-stage.ts";
import { command, execute, plan, respond, shownTo } from "./plan-stage.ts";

const safe = { traits: { replay: "safe" } } as const;

const iterationsIn = ({ records }: DurableStore): readonly number[] =>
  [...records.keys()].flatMap((key) => /^i(\d+)\/request\/model$/.exec(key)?.[1] ?? []).map(Number);

const finishedIn = ({ records }: DurableStore): readonly string[] =>
  [...records.keys()].flatMap((key) => /^(i\d+\/call\/.*)\/outcome$/.exec(key)?.[1] ?? []).map((key) => `planned/${key}`);

async function liveOver(
  store: DurableStore,
  fateOf: (life: number) => Parameters<DurableStore["open"]>[0],
  more: Parameters<typeof liveOn>[1] = {},
): Promise<readonly Lived[]> {
  const known: { readonly count: readonly number[]; readonly finished: readonly string[] }[] = [];
  const lives = await liveOn((index) => {
    known.push({ count: iterationsIn(store), finished: finishedIn(store) });
    return store.open(fateOf(index));
  }, more);
  for (const [index, { asked, ran }] of lives.entries()) {
    const { count = [], finished = [] } = known[index] ?? {};
    expect(
      asked.filter((iteration) => count.includes(iteration)),
      "asked again",
    ).toEqual([]);
    expect(
      ran.filter((key) => finished.includes(key)),
      "run again",
    ).toEqual([]);
  }
  return lives;
}

const quietStore = createDurableStore();
const undisturbed = await liveOn(() => quietStore.open());
const isCrashed = ({ result }: Lived): boolean => result instanceof Crash;

it("withPlanner: a run without a crash is suspended, waits for approval after a resume, and then answers", () => {
  expect(undisturbed.map(({ result }) => (result instanceof Crash ? "crash" : result.reason.kind))).toEqual([
    "drained",
    "approval-required",
    "answered",
  ]);
  expect(undisturbed.map(({ asked, ran }) => [asked.join(""), ran.length])).toEqual([
    ["0", 3],
    ["1", 1],
    ["22", 1],
  ]);
  expect(comesTo(undisturbed)).toMatchObject({
    said: "Done.",
    history: [
      ["call_i0_0", "completed"],
      ["call_i0_1", "completed"],
      ["call_i0_2", "failed"],
      ["call_i1_0", "completed"],
      ["call_i1_1", "completed"],
    ],
  });
});

describe.for([0, 1, 2])("withPlanner: a run whose process %d crashes after any record", (life) => {
  it("has the same result as an uninterrupted run", async () => {
    for (let afterRecords = 1; ; afterRecords += 1) {
      const store = createDurableStore();
      const lives = await liveOver(store, (index) => (index === life ? { afterRecords } : {}), safe);
      expect([afterRecords, comesTo(lives)]).toEqual([afterRecords, comesTo(undisturbed)]);
      if (!lives.some(isCrashed)) return expect(afterRecords).toBeGreaterThan(4);
    }
  });

  it("does not run any tool twice", async () => {
    for (let afterRecords = 1; ; afterRecords += 1) {
      const store = createDurableStore();
      const lives = await liveOver(store, (index) => (index === life ? { afterRecords } : {}));
      const ran = lives.flatMap((lived) => lived.ran);
      expect([afterRecords, ran]).toEqual([afterRecords, [...new Set(ran)]]);
      expect([afterRecords, comesTo(lives)]).toMatchObject([afterRecords, { said: "Done.", iterations: 3 }]);
      if (!lives.some(isCrashed)) return;
    }
  });
});

it.for([0, 1, 2])(
  "withPlanner: after a crash during a request in iteration %d, only that iteration is repeated",
  async (iteration) => {
    const store = createDurableStore();
    const died = new Set<string>();
    const within = `i${iteration}/request/model`;
    const lives = await liveOver(store, () => {
      const fate = died.has(within) || iterationsIn(store).length < iteration ? {} : { within };
      if ("within" in fate && iterationsIn(store).length === iteration) died.add(within);
      return fate;
    });
    expect(comesTo(lives)).toEqual(comesTo(undisturbed));
    const asked = lives.flatMap((lived) => lived.asked).filter((one) => one === iteration);
    expect(asked).toHaveLength(iteration === 2 ? 4 : 2);
  },
);

it("withPlanner: after a crash between two rounds, the next plan gets the recorded results", async () => {
  const store = createDurableStore();
  const turns: readonly MockMessage[] = [execute(command("look")), respond, text("Done.")];
  const first = plan(turns, { journal: store.open({ within: "i0/next" }), runId: "between" });
  await expect(first.result).rejects.toThrow(Crash);
  expect([...store.records.keys()].at(-1)).toBe("i0/call/0/look/outcome");
  const second = plan(turns.slice(1), { journal: store.open(), runId: "between" });
  const result = await second.result;
  expect(shownTo(second.model.requests[0])).toMatchObject({
    round_index: 1,
    done_plans: [{ tool_name: "look", result: "a quiet place" }],
    last_round_records: [{ tool_name: "look", result: "a quiet place" }],
  });
  expect([result.text, second.model.calls, planLogs(result).length]).toEqual(["Done.", 2, 1]);
});

it("withPlanner: a replay of a finished run does not send requests or run tools", async () => {
  const store = createDurableStore();
  const lives = await liveOn(() => store.open());
  const size = store.records.size;
  const recalled = await live({ journal: store.open() });
  expect([recalled.asked, recalled.ran, comesTo([recalled]), store.records.size]).toEqual([[], [], comesTo(lives), size]);
});

it("withPlanner: a run over a file journal continues across three processes", async () => {
  const path = join(makeFolder(), "planned.jsonl");
  const lives = await liveOn(() => fileJournal(path, { fsync: false }));
  expect(lives.map(({ asked, ran }) => [asked.join(""), ran.length])).toEqual([
    ["0", 3],
    ["1", 1],
    ["22", 1],
  ]);
  expect(comesTo(lives)).toEqual(comesTo(undisturbed));
  const again = await live({ journal: fileJournal(path, { fsync: false }) });
  expect([again.asked, again.ran, comesTo([again])]).toEqual([[], [], comesTo(undisturbed)]);
});

const saved = ({ journal }: LoopResult): ReturnType<typeof memoryJournal> =>
  memoryJournal(JSON.parse(JSON.stringify(journal)) as SavedJournal);

const slowly = (first: string, rest: string): MockMessage => [text(first), wait(100), text(rest)];

describe.for<[where: string, turns: readonly MockMessage[], rest: readonly MockMessage[]]>([
  ["in the middle of a plan", [execute(command("look")), slowly('{"next_action":', '"response"}')], [respond, text("Done.")]],
  ["in the middle of an answer", [execute(command("look")), respond, slowly("Do", "ne.")], [respond, text("Done.")]],
])("withPlanner: a run that ends %s", ([, turns, rest]) => {
  it.for<[verb: string, act: Parameters<typeof leave>[0]["act"]]>([
    ["control.stop()", ({ control }) => control.stop()],
    ["control.kill()", ({ control }) => control.kill()],
    ["an abort", ({ abort }) => abort.abort()],
  ])('plans and answers again with resume: "retry-last" after %s', async ([, act]) => {
    const { result: ended, playing } = await leave({ turns, act });
    const { runId } = playing.options;
    const model = createMockProvider(rest);
    const resumed = await playOver(model, () => ({ runId, journal: saved(ended), resume: "retry-last" })).result;
    expect([resumed.reason.kind, resumed.text, model.calls]).toEqual(["answered", "Done.", 2]);
    expect(shownTo(model.requests[0])).toMatchObject({ round_index: 1, last_round_records: [{ tool_name: "look" }] });
    expect([resumed.toolCallsExecuted, planLogs(resumed).length]).toEqual([1, 1]);
  });

  it("has the same result in a replay after control.stop()", async () => {
    const { result: ended, playing } = await leave({ turns, act: ({ control }) => control.stop() });
    const { runId } = playing.options;
    const model = createMockProvider([]);
    const again = await playOver(model, () => ({ runId, journal: replayJournal(saved(ended)) })).result;
    expect([again.reason, again.messages, model.calls]).toEqual([ended.reason, ended.messages, 0]);
  });
});
