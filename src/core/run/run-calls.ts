// The calls of one message: at most `toolConcurrency` at a time, and a sequential tool alone. A call that waits never holds back a
// call that can run, unless its tool is sequential.

import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { isDurable, noteReplayed, performCall, sendEnd } from "./execute-tool-call.ts";
import { EagerJournal, ReplayJournal, whenParked } from "./journals.ts";
import { callPlace, eagerSteps, placeOf } from "./places.ts";
import { type PlacedCall, recallCalls } from "./shown-tools.ts";
import { Activity, Parked } from "./activity.ts";
import { type Run } from "./run.ts";
import { findIdenticalCalls } from "./identical-calls.ts";
import type { EndedCall, Outcome, State } from "./seam.ts";
import { applyNested } from "../utils/count-usage.ts";
import type { NextStep } from "./next-step.ts";
import { applyCalls } from "./state.ts";

export async function runCalls(run: Run): Promise<void> {
  const { state } = run;
  const { calls } = state.current;
  if (calls.length > 0) run.control?.startToolChain();
  run.isBarred = false;
  run.isSettled = run.isReplayed && (await run.journal.read(run.prefix + nextKeyOf(state))) !== undefined;
  run.recalled.clear();
  if (run.isReplayed && !run.isSettled) await recallCalls(run, calls);
  const refusals = new Map((state.answers.at(-1)?.refusals ?? []).map((outcome) => [outcome.call.callId, outcome]));
  const { isReplayed } = run;
  const turns = new Turns(run);
  const replayed = await replayEnded(run, calls, turns);
  const begun = calls.map(async (call, index): Promise<EndedCall> => {
    const refused = refusals.get(call.callId);
    if (refused === undefined) return replayed.get(call) ?? runOne(run, { call, index }, turns);
    noteReplayed(run, refused);
    sendEnd(run, refused, isReplayed);
    return { call, outcome: refused, waits: [] };
  });
  turns.start();
  const all = await Promise.all(begun).finally(() => turns.release());
  run.begun.clear();
  const ended = await endBeyond(run, all);
  applyCalls(state, ended);
  for (const { undelivered = [] } of ended)
    run.returned.push(...undelivered.map((message) => ({ verb: "keep", message }) as const));
  sendIdentical(run);
}

async function endBeyond(run: Run, all: readonly EndedCall[]): Promise<readonly EndedCall[]> {
  const ended: EndedCall[] = [];
  let left = run.meter.toolCallsLeft;
  for (const [index, one] of all.entries()) {
    const end = one.waits.length === 0 ? one : await endLimited(run, one, { index, left });
    if (end.isOpen === true && end.outcome.kind === "not-run") left -= 1;
    ended.push(end);
  }
  return ended;
}

interface LimitedPlace {
  readonly index: number;
  /** How many calls the limit allows, apart from those of the calls before it that wait. */
  readonly left: number;
}

/** A call must not wait for an approval if the calls beside it use up the limit, because it could not run. */
async function endLimited(run: Run, one: EndedCall, { index, left }: LimitedPlace): Promise<EndedCall> {
  const { call, outcome } = one;
  const key = `${callPlace(run.state, index, call.name)}/ended`;
  const wasAsked = run.recalled.get(call.callId)?.wasAsked === true;
  const mayWait = wasAsked || run.isSettled || run.scope.cause !== undefined;
  const mayRun = outcome.kind !== "not-run" || mayWait || left > 0;
  if (mayRun && (await run.journal.read(run.prefix + key)) === undefined) return one;
  const { isReplayed } = run;
  const limited = await run.step<Outcome>(key, () => ({ call, durationMs: 0, kind: "limit" }));
  sendEnd(run, limited, isReplayed);
  return { ...one, outcome: limited, waits: [], isOpen: undefined };
}

/** Replays the calls that have ended before any other call runs, so that listeners get what is recorded first. */
async function replayEnded(run: Run, calls: readonly ToolCall[], turns: Turns): Promise<ReadonlyMap<ToolCall, EndedCall>> {
  const replayed = new Map<ToolCall, EndedCall>();
  for (const [index, call] of calls.entries())
    if (run.recalled.get(call.callId)?.hasEnded === true) replayed.set(call, await runOne(run, { call, index }, turns));
  return replayed;
}

/** Tells the recorded calls that ran while the message streamed, if the run ends before its other calls. */
export async function replayEarly(run: Run): Promise<void> {
  const { state, journal, prefix } = run;
  if (state.phase !== "answer") return;
  for (const [index, call] of state.current.calls.entries()) {
    const steps = run.begun.has(call.callId) ? undefined : eagerSteps(state.current, call.callId);
    if (steps === undefined) continue;
    const place = callPlace(state, index, call.name);
    const activity = new Activity(run, {
      place,
      path: call.callId,
      journal: new ReplayJournal(new EagerJournal(journal, prefix + place, steps)),
      call,
      index,
    });
    const { stuck } = activity.journal as ReplayJournal;
    await Promise.race([activity.settle(performCall(activity, call)), stuck]);
  }
}

function sendIdentical({ state, limits, events, runId, isReplayed }: Run): void {
  const found = findIdenticalCalls(state, limits);
  if (found === undefined || state.consecutiveToolErrors >= limits.maxConsecutiveToolErrors) return;
  const { toolName, count } = found;
  const base = { runId, iteration: state.iteration, ...(isReplayed && { replayed: true }) };
  events.send({ type: "loop-detected", ...base, toolName, count, cycle: 1, action: "stop" });
}

/** Sends the ends of the calls that waited when their run ended. */
export function sendCutEnds(run: Run): void {
  for (const { outcome, waits } of run.state.lastBatch) if (waits.length > 0) sendEnd(run, outcome, run.isReplayed);
}

/** The key of the look after the calls. */
export function nextKeyOf(state: State): string {
  return `${placeOf(state)}/next`;
}

/** True if the journal goes on with the calls of the newest answer, although this execution would end the run before them. */
export async function hasCallRecords({ state, journal, prefix, isReplayed }: Run, next: NextStep): Promise<boolean> {
  // A paused message goes on with a request, although its calls may have records.
  if (next.kind !== "look" || state.phase !== "answer" || !isReplayed) return false;
  const places = state.current.calls.map(({ name }, index) => `${callPlace(state, index, name)}/outcome`);
  for (const key of [nextKeyOf(state), ...places]) if ((await journal.read(prefix + key)) !== undefined) return true;
  return false;
}

async function runOne(run: Run, { call, index }: PlacedCall, turns: Turns): Promise<EndedCall> {
  const { state, readCall } = run;
  if (readCall !== undefined) return readCall(run, call, index);
  const { sequential, polls: mayRepeat } = run.shown.get(call.name) ?? {};
  const polls = mayRepeat === true ? ({ polls: true } as const) : {};
  const begun = run.begun.get(call.callId);
  if (begun !== undefined) {
    const outcome = await begun.made;
    for (const spent of begun.spent) applyNested(state, spent);
    return { call, outcome: { ...outcome, call }, waits: [], ...polls };
  }
  const place = callPlace(state, index, call.name);
  const steps = eagerSteps(state.current, call.callId);
  const journal = steps === undefined ? run.journal : new EagerJournal(run.journal, run.prefix + place, steps);
  const activity = new Activity(run, { place, path: call.callId, journal, call, index });
  const hasRun = run.recalled.get(call.callId)?.hasRun === true;
  const turn = turns.join(activity, { isAlone: sequential === true, hasRun });
  const end = await activity.settle(performCall(activity, call));
  turns.leave(turn, "waits" in end);
  for (const spent of activity.spent) applyNested(state, spent);
  const { undelivered } = activity;
  if ("value" in end) return { call, outcome: end.value, waits: [], undelivered, ...polls };
  const outcome: ToolOutcome = { call, durationMs: 0, kind: activity.hasBegun ? "interrupted" : "not-run" };
  return { call, outcome, waits: end.waits, isOpen: true, isDrained: activity.isDrained, undelivered };
}

/** The calls before a call that have not ended: all of them, and the sequential ones. "waits" if one of them waits. */
interface Before {
  any: "none" | "open" | "waits";
  alone: "none" | "open" | "waits";
}

function worse(before: Before["any"], { phase }: Turn): Before["any"] {
  return before === "waits" || phase === "waiting" ? "waits" : "open";
}

interface Turn {
  readonly activity: Activity;
  readonly isAlone: boolean;
  /** "asked" until the call has passed the middleware. "waiting" if it can only go on in a later execution. */
  phase: "asked" | "ready" | "running" | "waiting" | "ended";
  /** Resolves when the tool may begin. */
  readonly begins: Promise<void | Parked>;
  /** True if it needs the place of a call that waits. */
  isHungry: boolean;
  begin(held?: Parked): void;
}

/**
 * Decides when the tools of a message begin. The first tool begins after the middleware has seen all calls, so that a person is asked
 * about all of them at once, and a denial that ends the run comes before any effect.
 */
class Turns {
  readonly #run: Run;
  /** By the index of the call. Refused calls have none. */
  readonly #turns: (Turn | undefined)[] = [];
  #asked = 0;
  #running = 0;
  #isComplete = false;
  #hasBegun = false;
  #reserved = 0;
  #isWatching = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Adds a call. A call that ran in an earlier execution only replays its records, so it need not wait. */
  join(activity: Activity, { isAlone, hasRun }: { readonly isAlone: boolean; readonly hasRun: boolean }): Turn {
    let begin: Turn["begin"] = () => {};
    const begins = new Promise<void | Parked>((resolve) => (begin = resolve));
    const turn: Turn = { activity, isAlone, phase: "asked", begins, isHungry: false, begin };
    this.#turns[activity.index] = turn;
    this.#asked += 1;
    if (hasRun) this.#move(turn, "running");
    else {
      activity.onIdle = () => this.#watch();
      activity.takeTurn = () => {
        if (turn.phase === "asked") this.#move(turn, "ready");
        this.#advance();
        return begins;
      };
    }
    return turn;
  }

  /** Called when all calls have joined. */
  start(): void {
    this.#isComplete = true;
    this.#advance();
    this.#watch();
  }

  leave(turn: Turn, waits: boolean): void {
    this.#move(turn, waits ? "waiting" : "ended");
    turn.activity.wave?.leave(turn.activity.path);
    this.#advance();
  }

  #move(turn: Turn, phase: Turn["phase"]): void {
    if (turn.phase === "asked") this.#asked -= 1;
    if (turn.phase === "running") this.#running -= 1;
    if (phase === "running") this.#running += 1;
    turn.phase = phase;
  }

  /** Middleware may hold a call back until a sibling has ended. Nothing is recorded meanwhile, so the siblings begin. */
  #watch(): void {
    if (!this.#isComplete || this.#hasBegun || this.#asked === 0 || this.#isWatching) return;
    this.#isWatching = true;
    whenParked(() => {
      this.#isWatching = false;
      if (this.#turns.some((turn) => turn?.phase === "asked" && turn.activity.isBusy)) return;
      this.#begin();
      this.#advance();
    });
  }

  /** In the order of the calls, a call that waits keeps its place in `maxToolCalls`, so that no later call takes it. */
  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { meter } = this.#run;
    let left = meter.toolCallsLeft;
    for (const turn of this.#turns) {
      if (left < 1) break;
      const waits = turn?.activity.isParked === true && !turn.activity.hasBegun;
      if (waits) this.#reserved += 1;
      if (waits || turn?.phase === "ready") left -= 1;
    }
    meter.add({ toolCalls: this.#reserved });
  }

  /** Called when all calls have ended or wait. */
  release(): void {
    this.#run.meter.add({ toolCalls: -this.#reserved });
  }

  #advance(): void {
    if (this.#isComplete && this.#asked === 0) this.#begin();
    if (!this.#hasBegun) return;
    this.#beginTogether();
    const before: Before = { any: "none", alone: "none" };
    for (const turn of this.#turns) {
      if (turn === undefined || turn.phase === "ended") continue;
      // No call overtakes a sequential call, and a sequential call overtakes none.
      if (turn.phase === "ready") this.#offer(turn, turn.isAlone ? before.any : before.alone);
      before.any = worse(before.any, turn);
      if (turn.isAlone) before.alone = worse(before.alone, turn);
    }
  }

  /** Begins the calls that the registry runs together. Durable tools run as usual. */
  #beginTogether(): void {
    const { registry, state } = this.#run;
    if (registry.joins?.(state.messages) !== true) return;
    const ready = this.#turns.filter(
      (turn): turn is Turn => turn?.phase === "ready" && !isDurable(turn.activity.run, turn.activity.call?.name ?? ""),
    );
    const wave = ready.length === 0 ? undefined : registry.createWave?.(ready.map(({ activity }) => activity.path));
    for (const turn of ready) {
      turn.activity.wave = wave;
      this.#move(turn, "running");
      turn.begin();
    }
  }

  #offer(turn: Turn, before: Before["any"]): void {
    if (before === "waits") {
      // The call runs when the run is resumed.
      this.#move(turn, "waiting");
      turn.begin(new Parked([]));
    } else if (before === "none" && this.#running < this.#run.limits.toolConcurrency) {
      this.#move(turn, "running");
      turn.begin();
    } else if (before === "none" && !turn.isHungry) {
      turn.isHungry = true;
      void this.#run.root.waiting.letEnd(() => turn.begins);
    }
  }
}
