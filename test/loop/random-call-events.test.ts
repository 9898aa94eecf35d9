import fc from "fast-check";
import { expect, it } from "vitest";
import { type LoopOptions, type LoopResult, memoryJournal, type ModelChunk, providerError } from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import { chunk, createMockProvider, finish, type EventRecording, type MockPart, recordEvents, text } from "turnwright/testing";
import { checkCallEvents, retellable } from "./check-call-events.ts";
import { Crash, createDurableStore } from "./durable-store.ts";
import { finished, setUp } from "./eager-stage.ts";
import { withAgent } from "./random-agent.ts";
import { type Plan, plans } from "./random-run.ts";
import { calmly, runPlan, savedOf } from "./run-plan.ts";

interface Nested {
  readonly nested: boolean;
}

interface Heard {
  readonly result: LoopResult;
  readonly recording: EventRecording;
}

async function hear({ nested, ...plan }: Plan & Nested, more: Partial<LoopOptions>): Promise<Heard> {
  let recording: EventRecording | undefined;
  const { result } = await runPlan(plan, (own) => {
    recording = recordEvents(own.events);
    return { ...own, ...more, ...(nested ? { tools: withAgent(own) } : {}) };
  });
  if (recording === undefined) throw new Error("Nobody listened.");
  checkCallEvents(recording.events);
  return { result, recording };
}

async function hearAfterCrash(plan: Plan & Nested): Promise<void> {
  const store = createDurableStore();
  try {
    await hear(plan, { journal: store.open({ afterRecords: 1 + Math.floor(plan.cutAt * 12) }) });
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }
  await hear(plan, { journal: store.open() });
}

const copyOf = (result: LoopResult, count = Number.POSITIVE_INFINITY): MemoryJournal =>
  memoryJournal({ steps: Object.fromEntries(Object.entries(savedOf(result).steps).slice(0, count)) });

const decisionsOf = ({ reason }: LoopResult): LoopOptions["answers"] =>
  Object.fromEntries(
    (reason.kind === "approval-required" ? reason.calls : []).map(({ id }, index) => [
      id,
      index % 2 === 0 ? { kind: "approve" } : { kind: "deny" },
    ]),
  );

// To run more cases: EVENTS=10000 SEED=7 npx vitest run test/loop/random-call-events.test.ts
const runs = Number(process.env["EVENTS"] ?? 45);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it(
  "the events of a call have one id and one index in random runs, replays, retries and crashes",
  { timeout: 600_000 },
  async () => {
    const check = async (given: Plan, nested: boolean): Promise<void> => {
      const plan = { ...given, nested };
      let { result, recording } = await hear(plan, {});
      if (result.status === "suspended") {
        const calm = { ...plan, ...calmly(plan), turns: plan.turns.slice(result.streamResults.length) };
        ({ result, recording } = await hear(calm, { journal: copyOf(result), answers: decisionsOf(result) }));
      } else {
        const again = await hear({ ...plan, turns: [], verbs: [] }, { journal: copyOf(result) });
        expect(retellable(again.recording.events)).toEqual(retellable(recording.events));
      }
      const count = Math.floor(plan.cutAt * Object.keys(savedOf(result).steps).length);
      const calm = { ...plan, ...calmly(plan) };
      await hear({ ...calm, turns: plan.turns.slice(1) }, { journal: copyOf(result, count), resume: "retry-last" });
      await hearAfterCrash(calm);
    };
    await fc.assert(fc.asyncProperty(plans, fc.boolean(), check), { numRuns: runs, seed });
  },
);

/** A streamed call. Its id or name may arrive late or never. */
interface WireCall {
  readonly start: { readonly id: string | undefined; readonly name: string } | undefined;
  readonly pieces: number;
  readonly ready: Partial<Extract<ModelChunk, { type: "call-ready" }>> | undefined;
}

const ids = fc.constantFrom(undefined, "x", "y", "call_i0_0", "call_i0_1");
const names = fc.constantFrom("look", "look", "act", "nope");

const wireCall: fc.Arbitrary<WireCall> = fc.record({
  start: fc.option(fc.record({ id: ids, name: fc.oneof(names, fc.constant("")) }), { nil: undefined, freq: 4 }),
  pieces: fc.nat({ max: 2 }),
  ready: fc.option(
    fc.record({
      id: ids,
      name: names,
      problem: fc.constantFrom(undefined, undefined, "malformed" as const, "truncated" as const),
    }),
    { nil: undefined, freq: 4 },
  ),
});

function chunksOf({ start, pieces, ready }: WireCall, key: string): readonly ModelChunk[] {
  const argsText = "{}".padEnd(pieces);
  const deltas = Array.from({ length: pieces }, (_, at): ModelChunk => ({
    type: "call-args-delta",
    key,
    text: argsText[at] ?? "",
  }));
  return [
    ...(start === undefined ? [] : [{ type: "call-start" as const, key, ...start }]),
    ...deltas,
    ...(ready === undefined ? [] : [{ type: "call-ready" as const, key, name: "look", argsText, args: {}, ...ready }]),
  ];
}

function interleave(lists: readonly (readonly ModelChunk[])[], picks: readonly number[]): readonly MockPart[] {
  const left = lists.map((list) => [...list]);
  const out: ModelChunk[] = [];
  for (let at = 0; left.some((list) => list.length > 0); at += 1) {
    const filled = left.filter((list) => list.length > 0);
    const next = filled[(picks[at % picks.length] ?? 0) % filled.length]?.shift();
    if (next !== undefined) out.push(next);
  }
  return out.map(chunk);
}

const began = (attempt: number): MockPart => chunk({ type: "attempt-start", attempt, provider: "p", model: "m" });
const tookBack = chunk({ type: "attempt-discarded", attempt: 1, error: providerError("overloaded", "Busy.") });

const wires = fc.record({
  attempts: fc.array(fc.array(wireCall, { maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  picks: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 12 }),
  reason: fc.constantFrom("tool-calls", "tool-calls", "tool-calls", "length", "paused", "malformed-call", "stop" as const),
});

it("a call's events have one id and one index even if ids or names stream late, twice or never", async () => {
  const check = async ({
    attempts,
    picks,
    reason,
  }: typeof wires extends fc.Arbitrary<infer Wire> ? Wire : never): Promise<void> => {
    const turn = attempts.flatMap((calls, at) => [
      began(at + 1),
      ...interleave(
        calls.map((call, key) => chunksOf(call, `call ${key}`)),
        picks,
      ),
      ...(at + 1 < attempts.length ? [tookBack] : []),
    ]);
    const script = [[...turn, finish(reason)], ...Array.from({ length: 9 }, () => text("Done."))];
    const live = setUp().start(script);
    const result = await finished(live);
    checkCallEvents(live.recording.events);
    const recording = recordEvents();
    const journal = copyOf(result);
    await finished(
      setUp().start([], { runId: result.runId, journal, provider: createMockProvider([]), events: recording.emitter }),
    );
    checkCallEvents(recording.events);
    expect(retellable(recording.events)).toEqual(retellable(live.recording.events));
  };
  await fc.assert(fc.asyncProperty(wires, check), { numRuns: 100, seed });
});
