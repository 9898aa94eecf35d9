import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  approve,
  createLoopControl,
  defineAgentTool,
  isLoopError,
  type Journal,
  type LoopOptions,
  type LoopResult,
  type LoopStatus,
  memoryJournal,
  onIteration,
  prepareIteration,
  runToolLoop,
  type Tool,
} from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import {
  createMockProvider,
  createTestClock,
  fail,
  type MockProvider,
  type MockMessage,
  recordEvents,
  text,
  toolCall,
} from "turnwright/testing";
import { createDurableStore } from "../loop/durable-store.ts";
import { plain, question } from "../loop/nested/nesting.ts";
import { tool } from "../loop/play.ts";
import { makeFolder, readRecords } from "./folder.ts";

interface Cast {
  readonly options: Omit<LoopOptions, "journal">;
  readonly calls: string[];
}

const inner: readonly MockMessage[] = [[toolCall("work"), toolCall("drain_inside")], text("Inner.")];

function cast(turns: readonly MockMessage[]): Cast {
  const calls: string[] = [];
  const note = <T>(what: string, value: T): T => (calls.push(what), value);
  const model = (script: readonly MockMessage[]): MockProvider =>
    createMockProvider(({ messages }) => note("model", script[messages.filter(({ role }) => role === "assistant").length]));
  const make = (name: string, act: (args: unknown) => unknown): Tool => tool(name, (args) => note(name, act(args)));
  const control = createLoopControl();
  const inside = createLoopControl();
  const work = make("work", (args) => args);
  const agent = defineAgentTool({
    name: "agent",
    description: "agent",
    inputSchema: { type: "object" },
    prepare: () => ({
      messages: question,
      provider: model(inner),
      tools: [work, make("drain_inside", () => void inside.drain())],
      control: inside,
    }),
    toResult: (result) => note("toResult", result.text),
  });
  const options: Cast["options"] = {
    provider: model(turns),
    tools: [work, make("drain", () => void control.drain()), make("stop", () => void control.stop()), agent],
    messages: question,
    runId: "r",
    clock: createTestClock(),
    control,
    middleware: [
      onIteration(() => void note("onIteration", 0)),
      prepareIteration(() => note("prepareIteration", {})),
      approve(() => note("approve", { kind: "approve" })),
    ],
  };
  return { options, calls };
}

/** Each `make` returns a function that reopens the journal of the previous execution. */
const stores: readonly (readonly [where: string, make: () => (last?: LoopResult) => Journal])[] = [
  [
    "a journal file",
    () => {
      const path = join(makeFolder(), "run.jsonl");
      return () => fileJournal(path, { fsync: false });
    },
  ],
  [
    "a custom durable journal",
    () => {
      const store = createDurableStore();
      return () => store.open();
    },
  ],
  ["a memory journal", () => (last) => memoryJournal(last && JSON.parse(JSON.stringify(last.journal)))],
];

type Execution = readonly [status: LoopStatus, turns: readonly MockMessage[]];
const busy = fail({ status: 503, message: "busy" });
const drained: readonly MockMessage[] = [[toolCall("work"), toolCall("drain")], text("Done.")];
const suspendedInside: readonly MockMessage[] = [[toolCall("agent"), toolCall("work")], text("Done.")];

const runs: readonly (readonly [what: string, executions: readonly Execution[]])[] = [
  ["answered", [["completed", [[toolCall("work", 1), toolCall("work", 2)], toolCall("work"), text("Done.")]]]],
  ["was drained", [["suspended", drained]]],
  [
    "was drained and resumed",
    [
      ["suspended", drained],
      ["completed", drained],
    ],
  ],
  [
    "was drained twice and resumed",
    [
      ["suspended", [toolCall("drain"), toolCall("drain"), text("Done.")]],
      ["suspended", [toolCall("drain"), toolCall("drain"), text("Done.")]],
      ["completed", [toolCall("drain"), toolCall("drain"), text("Done.")]],
    ],
  ],
  ["was suspended in a nested run", [["suspended", suspendedInside]]],
  [
    "was suspended in a nested run and resumed",
    [
      ["suspended", suspendedInside],
      ["completed", suspendedInside],
    ],
  ],
  ["failed", [["error", [toolCall("work"), busy]]]],
  [
    "failed and was retried",
    [
      ["error", [toolCall("work"), busy]],
      ["completed", [toolCall("work"), text("Better.")]],
    ],
  ],
  [
    "failed twice and was retried",
    [
      ["error", [busy]],
      ["error", [busy]],
      ["completed", [text("Better.")]],
    ],
  ],
  ["was stopped", [["stopped-by-user", [[toolCall("work"), toolCall("stop")], text("Done.")]]]],
];

describe.for(stores)("replayJournal with %s", ([, make]) => {
  it.for(runs)("calls no model and no tool in a replay of a run that %s", async ([, executions]) => {
    const open = make();
    let last: LoopResult | undefined;
    for (const [status, turns] of executions) {
      last = await runToolLoop({ ...cast(turns).options, journal: open(last), resume: "retry-last" });
      expect(last.status).toBe(status);
      for (const resume of [undefined, "retry-last"] as const) {
        const { options, calls } = cast([]);
        const { emitter, events } = recordEvents();
        const replayed = await runToolLoop({ ...options, resume, events: emitter, journal: replayJournal(open(last)) });
        expect(plain(replayed)).toEqual(plain(last));
        // An agent tool runs over its records, so it makes its result again.
        expect(["", "toResult"]).toContain(calls.join());
        expect(events.filter((event) => event.type === "tool-end" && event.replayed !== true)).toEqual([]);
      }
    }
  });
});

describe("replayJournal", () => {
  it('throws "journal-incomplete", with the missing key, for a journal that was truncated after any record', async () => {
    const path = join(makeFolder(), "run.jsonl");
    const turns: readonly MockMessage[] = [[toolCall("work"), toolCall("agent")], text("Done.")];
    await runToolLoop({ ...cast(turns).options, journal: fileJournal(path, { fsync: false }) });
    const bytes = readFileSync(path);
    const keys = readRecords(path).map(({ key }) => key);
    expect(keys.length).toBeGreaterThan(15);
    for (const [index] of keys.entries()) {
      const store = createDurableStore();
      for (const { key, answer } of readRecords(path).slice(0, index)) store.records.set(key, JSON.stringify(answer));
      const { options, calls } = cast([]);
      const replayed = runToolLoop({ ...options, journal: replayJournal(store.open()) });
      const thrown: unknown = await replayed.catch((error: unknown) => error);
      expect([index, isLoopError(thrown, "journal-incomplete") && keys.slice(index).includes(thrown.details.key)]).toEqual([
        index,
        true,
      ]);
      expect([calls, store.records.size]).toEqual([[], index]);
    }
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("returns the recorded outcome of a call whose tool was interrupted", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const turns: readonly MockMessage[] = [toolCall("work"), text("Done.")];
    const crash = fileJournal(path, {
      fsync: false,
      redact: ({ key, answer }) => {
        if (key === "i0/call/0/work/outcome") throw new Error("crash");
        return answer;
      },
    });
    await expect(runToolLoop({ ...cast(turns).options, journal: crash })).rejects.toThrow("crash");
    const resumed = await runToolLoop({ ...cast(turns).options, journal: fileJournal(path) });
    const replayed = await runToolLoop({ ...cast([]).options, journal: replayJournal(fileJournal(path)) });
    expect([replayed.text, plain(replayed)]).toEqual(["Done.", plain(resumed)]);
  });

  it("reads each record once in a run of 500 iterations, whose file grows linearly", async () => {
    const sizes: number[] = [];
    for (const count of [50, 500]) {
      const path = join(makeFolder(), "run.jsonl");
      const script = (calls: { count: number }) =>
        createMockProvider(() => ((calls.count += 1) < count ? toolCall("work") : text("Done.")));
      const { options } = cast([]);
      const asked = { count: 0 };
      const limits = { maxIterations: count, maxConsecutiveToolErrors: count };
      const live = await runToolLoop({
        ...options,
        limits,
        provider: script(asked),
        journal: fileJournal(path, { fsync: false }),
      });
      expect([live.status, asked.count]).toEqual(["completed", count]);
      sizes.push(statSync(path).size);

      const journal = replayJournal(fileJournal(path));
      const steps: string[] = [];
      const counting: Journal = {
        ...journal,
        step: (key, body) => (steps.push(key), journal.step(key, body)),
      };
      const again = cast([]);
      const replayed = await runToolLoop({ ...again.options, limits, journal: counting });
      expect([replayed.text, replayed.iterations, again.calls]).toEqual(["Done.", count, []]);
      expect([...steps].sort()).toEqual(
        readRecords(path)
          .map(({ key }) => key)
          .sort(),
      );
    }
    const [short = 0, long = 0] = sizes;
    expect(long / short).toBeLessThan(10.5);
  });

  it("rejects an empty or missing journal and runs nothing", async () => {
    const { options, calls } = cast([]);
    const over = (journal: Journal): Promise<LoopResult> => runToolLoop({ ...options, journal: replayJournal(journal) });
    await expect(over(memoryJournal())).rejects.toMatchObject({ code: "journal-incomplete", details: { key: "run" } });
    const path = join(makeFolder(), "run.jsonl");
    await expect(over(fileJournal(path))).rejects.toMatchObject({ code: "ENOENT" });
    writeFileSync(path, "");
    await expect(over(fileJournal(path))).rejects.toMatchObject({ code: "journal-incomplete", details: { key: "run" } });
    expect([calls, readFileSync(path, "utf8")]).toEqual([[], ""]);
  });

  it("throws if its argument is not a journal", () => {
    expect(() => replayJournal({} as never)).toThrow('Option "journal" is an object, but must be a journal.');
    expect(() => replayJournal(undefined as never)).toThrow("is undefined, but must be");
  });
});
