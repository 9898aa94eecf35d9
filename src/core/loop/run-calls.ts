// Runs one message's calls: at most `toolConcurrency` at a time, and a sequential tool alone. A waiting call blocks other calls only if its
// tool is sequential.

import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { performCall, sendEnd } from "./perform-call.ts";
import { whenParked, callPlace, type PlacedCall } from "./journals.ts";
import { Activity, Parked } from "./activity.ts";
import { type Run } from "./run.ts";
import { isBarring } from "./seam.ts";
import type { EndedCall } from "../types/middleware.ts";
import { applyNested } from "../../shared/count-usage.ts";
import { applyCalls } from "./state.ts";

export async function runCalls(run: Run): Promise<undefined> {
  const { state, past, isReplayed } = run;
  const { calls } = state.current;
  if (calls.length > 0) run.control?.startToolChain();
  run.isBarred = [...run.begun.values()].some(({ outcome }) => outcome !== undefined && isBarring(outcome));
  await past?.recallCalls(calls);
  const refusals = sendRefusals(run, isReplayed);
  const turns = new Turns(run, calls.length);
  const replayed = past && new Map<ToolCall, EndedCall>();
  // Replays finished calls first, because listeners must get the recorded events before anything new happens.
  for (const [index, call] of calls.entries())
    if (past?.recalled.get(call.callId)?.hasEnded === true) replayed?.set(call, await runOne(run, { call, index }, turns));
  const begun = calls.map((call, index): Promise<EndedCall> => {
    const refused = refusals.get(call.callId);
    const ended = refused === undefined ? replayed?.get(call) : { call, outcome: refused, waits: [] };
    return ended === undefined ? runOne(run, { call, index }, turns) : Promise.resolve(ended);
  });
  turns.start();
  const all = await Promise.all(begun);
  run.begun.clear();
  applyCalls(state, all);
  for (const { undelivered = [] } of all)
    run.returned.push(...undelivered.map((message) => ({ verb: "keep", message }) as const));
  return undefined;
}

/** Sends the end events for the message's refused calls, and returns their outcomes by call id. */
function sendRefusals(run: Run, isReplayed: boolean): ReadonlyMap<string, ToolOutcome> {
  const { refusals = [] } = run.state.answers.at(-1) ?? {};
  for (const refused of refusals) sendEnd(run, refused, isReplayed);
  return new Map(refusals.map((outcome) => [outcome.call.callId, outcome]));
}

/** Sends the end events for the calls that were waiting when the run ended. */
export function sendCutEnds(run: Run): void {
  for (const { outcome, isOpen } of run.state.lastBatch) if (isOpen === true) sendEnd(run, outcome, run.isReplayed);
}

async function runOne(run: Run, { call, index }: PlacedCall, turns: Turns): Promise<EndedCall> {
  const { state, ports } = run;
  if (ports.readCall !== undefined) return ports.readCall(run, call, index);
  const begun = run.begun.get(call.callId);
  if (begun?.outcome !== undefined) {
    for (const spent of begun.spent) applyNested(state, spent);
    return { call, outcome: { ...begun.outcome, call }, waits: [] };
  }
  const { journal } = begun ?? run;
  const activity = new Activity(run, { place: callPlace(state, index, call.name), path: call.callId, journal, call, index });
  const turn = turns.join(activity, call);
  const end = await activity.settle(performCall(activity, call));
  turns.leave(turn, "waits" in end);
  for (const spent of activity.spent) applyNested(state, spent);
  const { undelivered, isDrained } = activity.left;
  if ("value" in end) return { call, outcome: end.value, waits: [], undelivered };
  const outcome: ToolOutcome = { call, durationMs: 0, kind: activity.hasBegun ? "interrupted" : "not-run" };
  return { call, outcome, waits: end.waits, isOpen: true, isDrained, undelivered };
}

interface Turn {
  readonly activity: Activity;
  /** True for a sequential tool: no other call runs alongside it, and calls keep their order. */
  readonly isAlone: boolean;
  /** True if middleware runs the call together with others, so it does not count toward `toolConcurrency`. */
  isTogether?: boolean;
  /**
   * "asked" until the call has passed through the middleware. "waiting" if it needs an answer from outside, so it continues in a later
   * execution.
   */
  phase: "asked" | "ready" | "running" | "waiting" | "ended";
  /** Resolves when the tool may begin. Undefined if it does not need to wait. */
  begins?: Promise<void | Parked> | Parked | undefined;
  begin(held?: Parked): void;
  /** True while the call needs the concurrency slot of a waiting call. */
  isHungry?: boolean;
}

/**
 * Decides when a message's tools begin. The first tool begins after the middleware has seen all calls, so that a person is asked
 * about all of them at once, and a denial that ends the run comes before any effect.
 */
class Turns {
  readonly #run: Run;
  /** The turns that have not ended, in call order. Refused calls have no turn. */
  #open = new Set<Turn>();
  #asked = 0;
  #running = 0;
  /** True if a turn has become "ready" or "waiting" since the last `#advance`. */
  #hasNew = true;
  #phase: "joining" | "asking" | "running" = "joining";
  #isWatching = false;

  constructor(run: Run, count: number) {
    this.#run = run;
    // If no hook needs to see the calls first, tools can start immediately. With 17 or more calls tools still wait, because checking all
    // earlier calls for each one would be slow.
    if (count < 17 && run.past === undefined && run.hooks.every(({ call, execute }) => (call ?? execute) === undefined))
      this.#phase = "running";
  }

  /** Adds a call. A call that ran in an earlier execution only replays its records, so it does not need to wait. */
  join(activity: Activity, { callId, name }: ToolCall): Turn {
    const { past, shown } = this.#run;
    const hasRun = past?.recalled.get(callId)?.hasRun === true;
    const isAlone = shown.get(name)?.sequential === true;
    const turn: Turn = {
      activity,
      isAlone,
      phase: hasRun ? "running" : "asked",
      begin: (held) => void (turn.begins = held),
    };
    this.#open.add(turn);
    if (hasRun) this.#running += 1;
    if (hasRun) return turn;
    this.#asked += 1;
    activity.onIdle = () => this.#watch();
    activity.takeTurn = (isTogether) => {
      if (turn.phase === "asked") {
        turn.isTogether = isTogether;
        this.#move(turn, "ready");
      }
      const wait = (): unknown => (turn.begins ??= new Promise<void | Parked>((resolve) => (turn.begin = resolve)));
      // Calls begin in order, so this call waits for its turn before it continues.
      if (this.#phase !== "running") wait();
      this.#advance();
      if (turn.phase === "ready") wait();
      return turn.begins;
    };
    return turn;
  }

  /** Called when all calls have joined. */
  start(): void {
    if (this.#phase !== "joining") return;
    this.#phase = "asking";
    this.#open = new Set([...this.#open].sort((one, other) => one.activity.index - other.activity.index));
    this.#advance();
    this.#watch();
  }

  leave(turn: Turn, waits: boolean): void {
    this.#move(turn, waits ? "waiting" : "ended");
    this.#advance();
  }

  #move(turn: Turn, phase: Turn["phase"]): void {
    if (turn.phase === "asked") this.#asked -= 1;
    const place = turn.isTogether === true ? 0 : 1;
    if (turn.phase === "running") this.#running -= place;
    if (phase === "running") this.#running += place;
    if (phase === "ended") this.#open.delete(turn);
    else if (phase !== "running") this.#hasNew = true;
    turn.phase = phase;
  }

  /**
   * Lets other calls begin if nothing is recorded for a while, because middleware may hold a call back until another call in the message
   * has ended.
   */
  #watch(): void {
    if (this.#phase !== "asking" || this.#isWatching) return;
    this.#isWatching = true;
    whenParked(() => {
      this.#isWatching = false;
      if (this.#phase !== "asking") return;
      for (const { phase, activity } of this.#open) if (phase === "asked" && activity.isInCore) return;
      this.#phase = "running";
      this.#advance();
    });
  }

  /** Lets calls begin. Checks each call that cannot begin only once, because a message may contain thousands of calls. */
  #advance(): void {
    if (this.#phase === "asking" && this.#asked === 0) this.#phase = "running";
    if (this.#phase !== "running") return;
    // `any` is the highest state of all earlier calls, and `alone` that of the sequential ones: 0 = ended, 1 = running, 2 = waiting for an
    // answer.
    let [any, alone] = [0, 0];
    for (const turn of this.#open) {
      if (turn.phase === "ready") this.#offer(turn, turn.isAlone ? any : alone);
      // Ignores the later calls, because none of them can start before this call.
      if (turn.phase === "ready" && !this.#hasNew) return;
      const own = turn.phase === "waiting" ? 2 : 1;
      any = Math.max(any, own);
      if (turn.isAlone) alone = Math.max(alone, own);
    }
    this.#hasNew = false;
  }

  #offer(turn: Turn, before: number): void {
    const { root, limits } = this.#run;
    if (turn.isTogether === true || (before === 0 && this.#running < limits.toolConcurrency)) {
      this.#begin(turn, "running");
    } else if (before === 2) {
      // A waiting call holds this one back, so it runs only when the run is resumed.
      this.#begin(turn, "waiting", new Parked([]));
    } else if (before === 0 && turn.isHungry !== true) {
      turn.isHungry = true;
      root.hungryCalls += 1;
      root.held?.check();
    }
  }

  #begin(turn: Turn, phase: Turn["phase"], held?: Parked): void {
    this.#move(turn, phase);
    if (turn.isHungry === true) this.#run.root.hungryCalls -= 1;
    turn.isHungry = false;
    turn.begin(held);
  }
}
