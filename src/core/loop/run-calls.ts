// The calls of one message: at most `toolConcurrency` at a time, and a sequential tool alone. A call that waits never holds back a
// call that can run, unless its tool is sequential.

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
  const refusals = new Map((state.answers.at(-1)?.refusals ?? []).map((outcome) => [outcome.call.callId, outcome]));
  const turns = new Turns(run);
  const replayed = new Map<ToolCall, EndedCall>();
  // Listeners get what is recorded before anything new happens.
  for (const [index, call] of calls.entries())
    if (past?.recalled.get(call.callId)?.hasEnded === true) replayed.set(call, await runOne(run, { call, index }, turns));
  const begun = calls.map(async (call, index): Promise<EndedCall> => {
    const refused = refusals.get(call.callId);
    if (refused === undefined) return replayed.get(call) ?? runOne(run, { call, index }, turns);
    sendEnd(run, refused, isReplayed);
    return { call, outcome: refused, waits: [] };
  });
  turns.start();
  const all = await Promise.all(begun);
  run.begun.clear();
  applyCalls(state, all);
  for (const { undelivered = [] } of all)
    run.returned.push(...undelivered.map((message) => ({ verb: "keep", message }) as const));
  return undefined;
}

/** Sends the ends of the calls that waited when their run ended. */
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

/** Takes the place of a call that waits, until the work begins. */
function takePlace(root: Run, begins: Promise<unknown> | undefined): void {
  root.hungryCalls += 1;
  root.held?.check();
  void begins?.then(() => (root.hungryCalls -= 1));
}

interface Turn {
  readonly activity: Activity;
  /** True for a sequential tool: no call overtakes it, and it overtakes none. */
  readonly isAlone: boolean;
  /** True if middleware runs it together with other calls, so that it takes no place. */
  isTogether?: boolean;
  /** "asked" until the call has passed the middleware. "waiting" if it can only go on in a later execution. */
  phase: "asked" | "ready" | "running" | "waiting" | "ended";
  /** Resolves when the tool may begin. */
  begins?: Promise<void | Parked>;
  begin(held?: Parked): void;
  /** True if it needs the place of a call that waits. */
  isHungry?: boolean;
}

/**
 * Decides when the tools of a message begin. The first tool begins after the middleware has seen all calls, so that a person is asked
 * about all of them at once, and a denial that ends the run comes before any effect.
 */
class Turns {
  readonly #run: Run;
  /** In the order of the calls. Refused calls have none. */
  readonly #turns: Turn[] = [];
  /** The turns that have not ended, in the order of the calls. */
  #open = new Set<Turn>();
  #asked = 0;
  #running = 0;
  /** True if a turn has become "ready" or "waiting" that `#advance` has not looked at. */
  #hasNew = true;
  #phase: "joining" | "asking" | "running" = "joining";
  #isWatching = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Adds a call. A call that ran in an earlier execution only replays its records, so it need not wait. */
  join(activity: Activity, { callId, name }: ToolCall): Turn {
    const { past, shown } = this.#run;
    const hasRun = past?.recalled.get(callId)?.hasRun === true;
    const isAlone = shown.get(name)?.sequential === true;
    const turn: Turn = { activity, isAlone, phase: hasRun ? "running" : "asked", begin: () => {} };
    this.#turns.push(turn);
    if (hasRun) this.#running += 1;
    if (hasRun) return turn;
    this.#asked += 1;
    activity.onIdle = () => this.#watch();
    activity.takeTurn = (isTogether) => {
      if (turn.phase === "asked") {
        turn.isTogether = isTogether;
        this.#move(turn, "ready");
      }
      turn.begins ??= new Promise<void | Parked>((resolve) => (turn.begin = resolve));
      this.#advance();
      return turn.begins;
    };
    return turn;
  }

  /** Called when all calls have joined. */
  start(): void {
    this.#phase = "asking";
    this.#turns.sort((one, other) => one.activity.index - other.activity.index);
    this.#open = new Set(this.#turns.filter(({ phase }) => phase !== "ended"));
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

  /** Middleware may hold a call back until a sibling has ended. Nothing is recorded meanwhile, so the siblings begin. */
  #watch(): void {
    if (this.#phase !== "asking" || this.#isWatching) return;
    this.#isWatching = true;
    whenParked(() => {
      this.#isWatching = false;
      if (this.#phase !== "asking" || this.#turns.some(({ phase, activity }) => phase === "asked" && activity.isInCore)) return;
      this.#phase = "running";
      this.#advance();
    });
  }

  /** A message may have thousands of calls, so that this method looks at a call that cannot begin only once. */
  #advance(): void {
    if (this.#phase === "asking" && this.#asked === 0) this.#phase = "running";
    if (this.#phase !== "running") return;
    // The state of the calls before: 0 if they have ended, 1 if they run, 2 if one of them waits.
    let [any, alone] = [0, 0];
    for (const turn of this.#open) {
      if (turn.phase === "ready") this.#offer(turn, turn.isAlone ? any : alone);
      // It holds back all that follow.
      if (turn.phase === "ready" && !this.#hasNew) return;
      const own = turn.phase === "waiting" ? 2 : 1;
      any = Math.max(any, own);
      if (turn.isAlone) alone = Math.max(alone, own);
    }
    this.#hasNew = false;
  }

  #offer(turn: Turn, before: number): void {
    if (turn.isTogether === true || (before === 0 && this.#running < this.#run.limits.toolConcurrency)) {
      this.#move(turn, "running");
      turn.begin();
    } else if (before === 2) {
      // The call runs when the run is resumed.
      this.#move(turn, "waiting");
      turn.begin(new Parked([]));
    } else if (before === 0 && turn.isHungry !== true) {
      turn.isHungry = true;
      takePlace(this.#run.root, turn.begins);
    }
  }
}
