import fc from "fast-check";
import { expect, it } from "vitest";
import { type Journal, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createTestClock } from "turnwright/testing";
import { Crash, createDurableStore, type DurableStore } from "../durable-store.ts";
import { type Deed, optionsOf, type Plan, plans, type Stage } from "./waiting-tree.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

interface Word {
  readonly atMs: number;
  readonly verb: "stop" | "kill" | "drain";
  /** The index of the run whose control method is called. 0 is the outermost run. */
  readonly run: number;
}

/** One process that executes the run. It crashes after `afterRecords` records. */
interface Life {
  readonly decisions: readonly ("approve" | "deny" | "none")[];
  readonly words: readonly Word[];
  readonly afterRecords: number | undefined;
  /** True to pass an additional decision about a call that does not wait. */
  readonly isMistaken: boolean;
}

const lives: fc.Arbitrary<readonly Life[]> = fc.array(
  fc.record({
    decisions: fc.array(fc.constantFrom("approve", "approve", "approve", "deny", "none"), { minLength: 1, maxLength: 3 }),
    words: fc.array(
      fc.record({
        atMs: fc.integer({ min: 0, max: 16 }),
        verb: fc.constantFrom("stop", "stop", "kill", "drain"),
        run: fc.constantFrom(0, 0, 1, 1, 2, 3),
      }),
      { maxLength: 2 },
    ),
    afterRecords: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined, freq: 5 }),
    isMistaken: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 1, maxLength: 4 },
);

interface Process {
  readonly journal: Journal;
  readonly answers?: LoopOptions["answers"];
  readonly words?: readonly Word[];
}

interface Lived {
  readonly end: unknown;
  readonly deeds: readonly Deed[];
  readonly isTold: boolean;
}

const begunIn = (deeds: readonly Deed[]): readonly string[] => deeds.flatMap(({ key, isEnd }) => (isEnd ? [] : [key]));

/** Records the outcome of a promise, also a rejection. */
function watchEnd(running: Promise<unknown>): readonly unknown[] {
  const ends: unknown[] = [];
  void running.then(
    (result) => ends.push(result),
    (error: unknown) => ends.push(error),
  );
  return ends;
}

async function live(plan: Plan, { journal, answers, words = [] }: Process): Promise<Lived> {
  const stage: Stage = { clock: createTestClock(), deeds: [], controls: [] };
  const { clock, deeds, controls } = stage;
  let isTold = false;
  let begunAtFinish: number | undefined;
  const options = optionsOf(plan, stage);
  const running: Promise<LoopResult> = runToolLoop({
    ...options,
    clock,
    journal,
    runId: "tree",
    answers,
  });
  const ends = watchEnd(running);
  for (const word of [...words].sort((a, b) => a.atMs - b.atMs)) {
    await clock.advance(Math.max(0, word.atMs - clock.now()));
    const answer = controls[word.run]?.[word.verb]();
    if (word.run !== 0) continue;
    if (answer === "finished") begunAtFinish ??= begunIn(deeds).length;
    else isTold ||= word.verb !== "drain";
  }
  // A timer may be set several turns of the event loop after the last one has fired.
  for (let tick = 0; tick < 200 && (tick === 0 || ends.length === 0); tick += 1) await clock.runAll();
  expect(ends.length, "The run hangs.").toBe(1);
  expect(clock.pending).toBe(0);
  const begun = begunIn(deeds).length;
  expect(begunAtFinish ?? begun, "Something began after a verb was answered with finished.").toBe(begun);
  return { end: ends[0], deeds, isTold };
}

const unknownDecision: unknown = expect.objectContaining({ code: "unknown-decision" });

const isResult = (end: unknown): end is LoopResult => typeof end === "object" && end !== null && "messages" in end;
const waitsFor = ({ reason }: LoopResult): readonly { readonly id: string }[] =>
  reason.kind === "approval-required" ? reason.calls : [];

function placesOf(key: string): readonly { readonly index: number; readonly isAlone: boolean }[] {
  return [...key.matchAll(/\/call\/(\d+)\/([^/]+)/g)].map(([, index, name = ""]) => ({
    index: Number(index),
    isAlone: name.endsWith("alone"),
  }));
}

const idOf = (key: string): string =>
  placesOf(key)
    .map(({ index }) => `call_i0_${index}`)
    .join("/");

/** A sequential call must run alone: all earlier calls have ended, and no later call has started. */
function checkOrder(deeds: readonly Deed[]): void {
  const begun = begunIn(deeds);
  for (const [at, later] of begun.entries()) {
    for (const earlier of begun.slice(0, at)) {
      const [first, second] = [placesOf(earlier), placesOf(later)];
      const level = first.findIndex(({ index }, depth) => index !== second[depth]?.index);
      const [before, after] = [first[level], second[level]];
      if (before === undefined || after === undefined || !(before.isAlone || after.isAlone)) continue;
      expect(before.index, `${later} ran after ${earlier}.`).toBeLessThan(after.index);
    }
  }
}

interface History {
  readonly plan: Plan;
  readonly store: DurableStore;
  readonly deeds: Deed[];
  readonly ids: Set<string>;
  readonly approved: Set<string>;
  repeated: Decisions | undefined;
}

async function checkTold({ plan, store }: History, result: LoopResult): Promise<void> {
  const told = await live(plan, { journal: replayJournal(store.open()) });
  if (!isResult(told.end)) throw told.end;
  expect([told.end.messages, told.deeds]).toEqual([result.messages, []]);
  const seen = await inspectJournal(store.open());
  const isOverruled = result.status !== "suspended" && told.end.status === "suspended";
  if (isOverruled) return;
  expect([told.end.reason, seen.status]).toEqual([result.reason, result.status]);
  const open = seen.pendingCalls.filter(({ state }) => state === "awaiting-approval").map(({ id }) => id);
  expect(open).toEqual(result.status === "suspended" ? expect.arrayContaining(waitsFor(result).map(({ id }) => id)) : []);
}

async function checkOver({ plan, store, ids }: History, result: LoopResult): Promise<void> {
  const again = await live(plan, { journal: store.open() });
  expect([(again.end as LoopResult).messages, again.deeds]).toEqual([result.messages, []]);
  for (const id of ids) {
    const late = await live(plan, { journal: store.open(), answers: { [id]: { kind: "approve" } } });
    expect(isResult(late.end) ? late.end.messages : late.end).toEqual(isResult(late.end) ? result.messages : unknownDecision);
    expect(late.deeds).toEqual([]);
  }
}

function decide({ approved }: History, { decisions }: Life, last: LoopResult | undefined): Decisions {
  const answers: Record<string, { kind: "approve" | "deny" }> = {};
  for (const [index, { id }] of (last === undefined ? [] : waitsFor(last)).entries()) {
    const answer = decisions[index % decisions.length] ?? "none";
    if (answer !== "none") answers[id] = { kind: answer };
    if (answer === "approve") approved.add(id);
  }
  return answers;
}

async function checkMistaken({ plan, store }: History, answers: Decisions, last: LoopResult): Promise<void> {
  const [waiting] = waitsFor(last);
  if (waiting === undefined) return;
  const mistaken: Decisions = { ...answers, [waiting.id.replace(/[^/]+$/, "nope")]: { kind: "approve" } };
  const { end, deeds } = await live(plan, { journal: store.open(), answers: mistaken });
  expect([end, deeds]).toEqual([unknownDecision, []]);
}

function checkDeeds({ deeds, approved }: History): void {
  const begun = begunIn(deeds);
  expect(new Set(begun).size, "A tool ran twice.").toBe(begun.length);
  for (const key of begun) if (/\/ask[^/]*$/.test(key)) expect([...approved]).toContain(idOf(key));
  checkOrder(deeds);
}

async function liveOn(history: History, life: Life, last: LoopResult | undefined): Promise<LoopResult | undefined> {
  const { plan, store, deeds, ids } = history;
  // After a crash, the next process gets the same decisions again.
  const answers = history.repeated ?? decide(history, life, last);
  if (life.isMistaken && history.repeated === undefined && last !== undefined) await checkMistaken(history, answers, last);
  const lived = await live(plan, { journal: store.open({ afterRecords: life.afterRecords }), answers, words: life.words });
  history.repeated = lived.end instanceof Crash ? answers : undefined;
  deeds.push(...lived.deeds);
  checkDeeds(history);
  if (lived.end instanceof Crash) return undefined;
  if (!isResult(lived.end)) throw lived.end;
  const { end, isTold } = lived;
  if (isTold) expect(["completed", "suspended"]).not.toContain(end.status);
  for (const { id } of waitsFor(end)) ids.add(id);
  await checkTold(history, end);
  return end;
}

async function check(plan: Plan, given: readonly Life[]): Promise<void> {
  const history: History = {
    plan,
    store: createDurableStore(),
    deeds: [],
    ids: new Set(),
    approved: new Set(),
    repeated: undefined,
  };
  let last: LoopResult | undefined;
  const calm: Life = { decisions: ["approve"], words: [], afterRecords: undefined, isMistaken: false };
  for (const life of [...given, ...Array.from({ length: 30 }, () => calm)]) {
    const end = await liveOn(history, life, last);
    if (end === undefined) continue;
    last = end;
    if (end.status === "suspended") continue;
    // If the resumed run ends before its first new step, its journal shows a waiting run. That run can be resumed again.
    const told = await live(plan, { journal: replayJournal(history.store.open()) });
    if ((told.end as LoopResult).status === "suspended") {
      last = told.end as LoopResult;
      continue;
    }
    await checkOver(history, end);
    return;
  }
  throw new Error("The run does not come to its end.");
}

// To run more cases: WAITING=5000 SEED=7 npx vitest run test/loop/nested/random-waiting.test.ts
const runs = Number(process.env["WAITING"] ?? 30);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("a random tree of nested runs waiting for approval follows decisions and control calls", { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(plans, lives, check), { numRuns: runs, seed });
});
