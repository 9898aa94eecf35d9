// Calls that nobody can decide about at once: the run ends, and another process goes on with the decisions.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ApprovalDecision,
  type Approve,
  createLoopControl,
  defineTool,
  isLoopError,
  type Json,
  type LoopOptions,
  memoryJournal,
  type SavedJournal,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { answersOf, outcomesOf, play, tool, type Playing } from "./play.ts";

/** A run of one batch: a payment that somebody has to decide about, a look that nobody has to, and another payment. */
function setUp(more: Partial<LoopOptions> = {}): {
  readonly ran: string[];
  readonly asked: string[];
  readonly start: (options?: Partial<LoopOptions>) => Playing;
} {
  const ran: string[] = [];
  const asked: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: z.object({ amount: z.number().max(100) }),
    execute: ({ amount }, { callId }) => void ran.push(`${callId} ${amount}`),
  });
  const look = tool("look", (_, { callId }) => ran.push(callId));
  const approve: Approve = ({ name, callId }) => {
    asked.push(callId);
    return { kind: name === "pay" ? "ask" : "approve" };
  };
  const script = [[toolCall("pay", { amount: 1 }), toolCall("look"), toolCall("pay", { amount: 2 })], text("Done.")];
  let begun = false;
  const start = (options: Partial<LoopOptions> = {}): Playing => {
    const turns = begun ? script.slice(1) : script;
    begun = true;
    return play(turns, { runId: "r", tools: [pay, look], policies: { approve }, ...more, ...options });
  };
  return { ran, asked, start };
}

const savedOf = async ({ result }: Playing): Promise<ReturnType<typeof memoryJournal>> =>
  memoryJournal(JSON.parse(JSON.stringify((await result).journal)));
const both = (kind: "approve" | "deny"): LoopOptions["decisions"] => ({ call_p0_0: { kind }, call_p0_2: { kind } });

describe("a call that nobody can decide about", () => {
  it("ends the run, when all that needs no decision has run", async () => {
    const { ran, start } = setUp();
    const playing = start();
    const result = await playing.result;
    const calls = [
      { id: "call_p0_0", callId: "call_p0_0", name: "pay", args: { amount: 1 } },
      { id: "call_p0_2", callId: "call_p0_2", name: "pay", args: { amount: 2 } },
    ];
    expect([result.status, result.reason]).toEqual(["suspended", { kind: "approval-required", calls }]);
    expect(result.pendingCalls.map(({ callId }) => callId)).toEqual(["call_p0_0", "call_p0_2"]);
    expect([ran, result.toolCallsExecuted, playing.provider.calls]).toEqual([["call_p0_1"], 1, 1]);
    expect(outcomesOf(result)).toEqual(["call_p0_0: awaiting-approval", "call_p0_1: completed", "call_p0_2: awaiting-approval"]);
    expect(answersOf(result)[0]?.result).toEqual({ status: "awaiting_approval" });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.id)).toEqual(["call_p0_1"]);
    expect(playing.recording.of("tool-start").map(({ callId }) => callId)).toEqual(["call_p0_1"]);
    expect(playing.recording.of("approval-decided").map(({ callId }) => callId)).toEqual(["call_p0_1"]);
    expect(playing.clock.pending).toBe(0);
  });

  it.for<[what: string, decisions: LoopOptions["decisions"], ran: readonly string[], outcomes: readonly string[]]>([
    ["approved", both("approve"), ["call_p0_1", "call_p0_0 1", "call_p0_2 2"], ["completed", "completed", "completed"]],
    ["denied", both("deny"), ["call_p0_1"], ["denied", "completed", "denied"]],
    [
      "edited",
      { call_p0_0: { kind: "modify", args: { amount: 7 } }, call_p0_2: { kind: "modify", args: { amount: 700 } } },
      ["call_p0_1", "call_p0_0 7"],
      ["completed", "completed", "invalid-input"],
    ],
  ])("that is %s later goes on in another process, and what has run does not run again", async ([, decisions, did, outcomes]) => {
    const { ran, asked, start } = setUp();
    const journal = await savedOf(start());
    const second = start({ journal, decisions });
    const result = await second.result;
    expect([result.reason.kind, result.text, result.pendingCalls]).toEqual(["answered", "Done.", []]);
    expect([ran, answersOf(result).map(({ outcome }) => outcome)]).toEqual([did, outcomes]);
    expect(asked).toEqual(["call_p0_0", "call_p0_1", "call_p0_2"]);
    expect(second.recording.of("approval-decided").map(({ callId, replayed }) => [callId, replayed])).toEqual([
      ["call_p0_0", undefined],
      ["call_p0_1", true],
      ["call_p0_2", undefined],
    ]);
    // The same call once more asks nothing, runs nothing, and takes the same decisions without complaint.
    const third = start({ journal: await savedOf(second), decisions });
    expect([(await third.result).messages, third.provider.calls, ran]).toEqual([result.messages, 0, did]);
  });

  it("that is denied later is told as new then, and as recalled after that", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), decisions: both("deny") });
    const third = start({ journal: await savedOf(second) });
    await third.result;
    const told = ({ recording }: Playing): unknown => recording.of("tool-end").map(({ callId, replayed }) => [callId, replayed]);
    expect([second, third].map(told)).toEqual([
      expect.arrayContaining([
        ["call_p0_0", undefined],
        ["call_p0_1", true],
        ["call_p0_2", undefined],
      ]),
      expect.arrayContaining([
        ["call_p0_0", true],
        ["call_p0_1", true],
        ["call_p0_2", true],
      ]),
    ]);
  });

  it("waits on where only others are decided, however often the run is resumed", async () => {
    const { ran, start } = setUp();
    const without = start({ journal: await savedOf(start()) });
    expect((await without.result).pendingCalls).toHaveLength(2);
    const one = start({
      journal: await savedOf(without),
      decisions: { call_p0_2: { kind: "approve" }, call_p0_0: { kind: "ask" } },
    });
    expect((await one.result).pendingCalls.map(({ callId }) => callId)).toEqual(["call_p0_0"]);
    const last = start({ journal: await savedOf(one), decisions: { call_p0_0: { kind: "approve" } } });
    expect((await last.result).text).toBe("Done.");
    expect(ran).toEqual(["call_p0_1", "call_p0_2 2", "call_p0_0 1"]);
  });

  it.for<[what: string, afterRecords: number]>(Array.from({ length: 12 }, (_, index) => ["record", index + 1]))(
    "goes on after a crash behind %s %d, and nothing runs twice",
    async ([, afterRecords]) => {
      const { ran, start } = setUp();
      const store = createDurableStore();
      expect((await start({ journal: store.open() }).result).status).toBe("suspended");
      const decisions = both("approve");
      const crashed = start({ journal: store.open({ afterRecords }), decisions });
      await crashed.result.catch(() => {});
      const result = await start({ journal: store.open(), decisions }).result;
      expect(result.text).toBe("Done.");
      expect(new Set(ran).size).toBe(ran.length);
      expect(answersOf(result).map(({ outcome }) => outcome)).not.toContain("awaiting-approval");
    },
  );

  it("is replayed as far as it went: with what waits, or with what was decided", async () => {
    const { ran, start } = setUp();
    const first = start();
    const pending = await start({ journal: replayJournal(await savedOf(first)) }).result;
    expect([pending.reason, pending.messages]).toEqual([(await first.result).reason, (await first.result).messages]);
    const second = start({ journal: await savedOf(first), decisions: both("approve") });
    const decided = start({ journal: replayJournal(await savedOf(second)) });
    expect([(await decided.result).text, decided.provider.calls, ran.length]).toEqual(["Done.", 0, 3]);
    expect(decided.recording.of("approval-decided").every(({ replayed }) => replayed)).toBe(true);
  });

  it("keeps its place in the limit of calls", async () => {
    const { ran, start } = setUp({ limits: { maxToolCalls: 2 } });
    const first = start();
    expect(outcomesOf(await first.result)).toEqual(["call_p0_0: awaiting-approval", "call_p0_1: completed", "call_p0_2: limit"]);
    const second = start({ journal: await savedOf(first), decisions: { call_p0_0: { kind: "approve" } } });
    expect(outcomesOf(await second.result)).toEqual(["call_p0_0: completed", "call_p0_1: completed", "call_p0_2: limit"]);
    expect(ran).toEqual(["call_p0_1", "call_p0_0 1"]);
  });

  it("is waited for by a journal that can wait", async () => {
    const { ran, start } = setUp();
    const asked: string[] = [];
    const wait = async (key: string): Promise<Json> => {
      asked.push(key);
      return { kind: key.includes("/0/") ? "approve" : "nonsense" };
    };
    const result = await start({ journal: { ...memoryJournal(), wait } }).result;
    expect([result.text, ran]).toEqual(["Done.", ["call_p0_0 1", "call_p0_1"]]);
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(["completed", "completed", "denied"]);
    expect(asked).toEqual(["p0/approval/0/pay/decision1", "p0/approval/2/pay/decision1"]);
  });

  it.for(["kill", "stop"] as const)("is given up by a %s while a journal waits", async (verb) => {
    const control = createLoopControl();
    const { ran, start } = setUp({ control });
    const playing = start({ journal: { ...memoryJournal(), wait: () => new Promise<Json>(() => {}) } });
    await playing.clock.flush();
    control[verb]();
    const result = await playing.result;
    expect([result.status, ran, playing.clock.pending]).toEqual(["stopped_by_user", [], 0]);
  });
});

describe("a decision is refused, before anything runs or is asked for,", () => {
  const refused = async (playing: Playing, code: "unknown-decision" | "invalid-option" | "tools-changed"): Promise<unknown> => {
    const thrown: unknown = await playing.result.catch((error: unknown) => error);
    expect([isLoopError(thrown, code), playing.provider.calls]).toEqual([true, 0]);
    return isLoopError(thrown) ? thrown.details : undefined;
  };

  it.for<[why: string, id: string]>([
    ["about a call that nobody knows", "call_p9_9"],
    ["about a call that has run", "call_p0_1"],
    ["about a call inside one that has none", "call_p0_0/call_p0_0"],
    ["about a key of every object", "__proto__"],
  ])("%s", async ([, id]) => {
    const { ran, start } = setUp();
    const journal = await savedOf(start());
    const decisions = JSON.parse(
      JSON.stringify({ ...both("approve"), "?": { kind: "approve" } }).replace('"?"', JSON.stringify(id)),
    );
    expect(await refused(start({ journal, decisions }), "unknown-decision")).toEqual({ call: id });
    expect(ran).toEqual(["call_p0_1"]);
  });

  it("where a run that failed is to be tried again, which stays as it was", async () => {
    const { start } = setUp();
    const failed = start({ provider: createMockProvider([fail({ status: 400 })]) });
    expect((await failed.result).status).toBe("error");
    const journal = await savedOf(failed);
    const before = journal.keys();
    await refused(start({ journal, resume: "retry-last", decisions: both("approve") }), "unknown-decision");
    expect(journal.keys()).toEqual(before);
  });

  it("where results are left to be looked at, which costs nothing", async () => {
    const looked: string[] = [];
    const processor = (name: string): string => (looked.push(name), name);
    const { start } = setUp({ policies: { approve: () => ({ kind: "approve" }), results: { processor } } });
    const saved = JSON.parse(JSON.stringify((await start().result).journal)) as SavedJournal;
    const kept = Object.entries(saved.steps).filter(([key]) => key.startsWith("p0/") && key !== "p0/results");
    looked.length = 0;
    const journal = memoryJournal({ steps: Object.fromEntries(kept) });
    await refused(start({ journal, decisions: { nobody: { kind: "approve" } } }), "unknown-decision");
    expect(looked).toEqual([]);
  });

  it("where it is another one than before", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), decisions: both("approve") });
    const journal = await savedOf(second);
    await refused(start({ journal, decisions: both("deny") }), "unknown-decision");
  });

  it("where the run is a new one", async () => {
    const { start } = setUp();
    await refused(start({ decisions: both("approve") }), "unknown-decision");
  });

  it.for<[what: string, decisions: unknown]>([
    ["no object", [{ kind: "approve" }]],
    ["true", { call_p0_0: true }],
    ["of another kind", { call_p0_0: { kind: "yes" } }],
    ["an edit without arguments", { call_p0_0: { kind: "modify" } }],
    ["an edit that is no data", { call_p0_0: { kind: "modify", args: 7n } }],
  ])("that is %s", async ([, decisions]) => {
    const { start } = setUp();
    await refused(start({ decisions: decisions as NonNullable<LoopOptions["decisions"]> }), "invalid-option");
  });

  it("where nobody is asked about anything", async () => {
    const { start } = setUp();
    const details = await refused(start({ decisions: both("approve"), policies: {} }), "invalid-option");
    expect(details).toMatchObject({ option: "policies.approve" });
  });

  it("where the tool takes something else by now", async () => {
    const { start } = setUp();
    const journal = await savedOf(start());
    const tools = [tool("pay", () => 1), tool("look", () => 1)];
    expect(await refused(start({ journal, tools, decisions: both("approve") }), "tools-changed")).toEqual({ changed: ["pay"] });
  });
});

it("decisions that a run did not come to, because it was ended before, do not cost its result", async () => {
  const { start } = setUp();
  const journal = await savedOf(start());
  const abort = new AbortController();
  abort.abort();
  const decisions: { [id: string]: ApprovalDecision } = { nobody: { kind: "approve" } };
  expect((await start({ journal, decisions, signal: abort.signal }).result).status).toBe("stopped_by_user");
});
