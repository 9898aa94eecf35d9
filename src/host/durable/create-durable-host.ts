import type { CallDecision, Json, LoopStatus } from "../../core/index.ts";
import { checkFields, type Checks, invalidOption, is, isRecord } from "../../core/kit.ts";
import type { StopRequest } from "../../core/types/loop-options.ts";
import type { HostedStream, WhenBusy } from "../run-host.ts";
import { Lines, type Waiting } from "../../conversation/lines.ts";
import { maxTimerMs, systemClock } from "../../shared/signals.ts";
import type { KeepRuns } from "../../conversation/keep-runs.ts";
import { continueLast, isReplacing, placeMessages, refuseKnown } from "../../conversation/next-messages.ts";
import { joinChecks } from "../start-options.ts";
import { waitingError, type WhenSuspended } from "../../conversation/waiting-calls.ts";
import { waitingCallsOf } from "../../shared/wait-ids.ts";
import { ConversationRuns, type LastRun } from "./conversation-runs.ts";
import type { DefinedLoop } from "./create-durable-loop.ts";
import type {
  DurableHost,
  DurableHostedRun,
  DurableHostFields,
  DurableHostStatus,
  DurableJoinOptions,
  DurableResumeAnswer,
  DurableStartAnswer,
  DurableStartOptions,
} from "./durable-host.ts";
import type { DurableLoop } from "./durable-loop.ts";
import type { DurableEngine } from "./durable-store.ts";
import { type DurableStart, readDurableStart, type RunInput } from "./host-options.ts";
import { readPlace, toHostedStream, toSeq } from "./read-durable-events.ts";

export function createDurableHost(fields: DurableHostFields, loop: DefinedLoop<Json>): DurableHost {
  const host = new Conversations(loop, fields);
  const { bounded } = loop;
  return {
    // Does not limit the total time of a start, because it may be queued for days. Each step has a limit instead.
    start: (id, options) => host.start(id, options),
    resume: async (id, options) => bounded("resume", () => host.resume(id, options)),
    join: async (id, options) => bounded("join", () => host.join(id, options)),
    retry: async (id) => bounded("retry", () => host.retry(id)),
    stop: async (id, request) => bounded("stop", () => host.stop(id, request)),
    kill: async (id) => bounded("kill", () => host.kill(id)),
    remove: async (id) => bounded("remove", () => host.remove(id)),
    status: async (id) => bounded("status", () => host.status(id)),
  };
}

interface Entering {
  readonly given: DurableStart;
  /** Resolves when a call to `start` that may queue gets its turn. Undefined for other calls. */
  readonly turn: Promise<unknown> | undefined;
}

/** Returns the settings for waiting in line. They make polling slow, because a suspended run may wait for weeks. */
function untilLate(): Waiting {
  return { clock: systemClock, until: systemClock.now() + maxTimerMs, signal: undefined };
}

interface NextStart {
  readonly given: DurableStart;
  readonly input: Json | undefined;
}

/** Statuses of failed runs. After these, sending the same message again starts a new attempt. */
const failed: ReadonlySet<string> = new Set<LoopStatus>(["error", "timeout", "stopped-by-user", "empty-response"]);

type PlacedInput = Omit<RunInput, "id" | "input">;

const resumeChecks: Checks<Parameters<DurableHost["resume"]>[1]> = {
  answers: ["an object with an answer for each call", isRecord, undefined, true],
};

const durableJoinChecks: Checks<DurableJoinOptions> = { ...joinChecks, endsWhenWaiting: is.flag };

class Conversations implements DurableHost {
  readonly #loop: DurableLoop<Json>;
  readonly #engineOf: () => DurableEngine;
  readonly #whenBusy: WhenBusy;
  readonly #whenSuspended: WhenSuspended;
  readonly #keepRuns: KeepRuns;
  readonly #lines = new Lines();
  readonly #runs: ConversationRuns;
  readonly #decideAll: DefinedLoop<Json>["decideAll"];
  readonly #bounded: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(defined: DefinedLoop<Json>, fields: DurableHostFields) {
    const { name, whenBusy = "refuse", whenSuspended = "refuse", keepRuns = Number.POSITIVE_INFINITY } = fields;
    this.#keepRuns = keepRuns;
    this.#loop = defined.loop;
    this.#engineOf = defined.engineOf;
    this.#decideAll = defined.decideAll;
    this.#bounded = (work) => defined.bounded("start", work);
    this.#runs = new ConversationRuns(defined, name);
    this.#whenBusy = whenBusy;
    this.#whenSuspended = whenSuspended;
  }

  async start(id: string, options: DurableStartOptions): Promise<DurableStartAnswer> {
    const given = readDurableStart(options);
    const { whenBusy = this.#whenBusy, whenSuspended = this.#whenSuspended } = given;
    const isNext = !this.#lines.has(id);
    // Joins the queue immediately, so that this process's runs begin in the order of the calls to `start`.
    const turn = whenBusy === "queue" || whenSuspended === "queue" ? this.#lines.take(id, "send", untilLate()) : undefined;
    try {
      return await this.#startInTurn(id, { given, turn, input: options.input }, isNext);
    } finally {
      void turn?.then((leave) => leave());
    }
  }

  /** Starts a run when it is this call's turn. `isNext` is true if no earlier call in this process is waiting. */
  async #startInTurn(id: string, entering: Entering & NextStart, isNext: boolean): Promise<DurableStartAnswer> {
    const { turn } = entering;
    for (let hasTurn = isNext; ;) {
      const last = await this.#bounded(() => this.#runs.findLast(id));
      if (last?.state === "live") {
        const answer = await this.#enterLive(id, last, entering);
        if (answer !== undefined) return answer;
        hasTurn = turn === undefined && !this.#lines.has(id);
      } else if (hasTurn) {
        const answer = await this.#bounded(() => this.#startNext(id, last, entering));
        if (answer !== undefined) return answer;
      } else if (turn === undefined) return { kind: "busy", runId: last?.runId ?? "" };
      else {
        await turn;
        hasTurn = true;
      }
    }
  }

  /** Handles a call to `start` while a run is live. Returns undefined when that run has ended. */
  async #enterLive(id: string, last: LastRun, { given, turn }: Entering): Promise<DurableStartAnswer | undefined> {
    const { message, whenSuspended = this.#whenSuspended } = given;
    const isRepeated = async (): Promise<boolean> =>
      message !== undefined && message.again === undefined && (await this.#runs.isRepeated(last, message));
    if (await this.#bounded(isRepeated)) return { kind: "started", repeated: true, ...this.#toHosted(last) };
    const waiting = await this.#bounded(() => this.#runs.findWaiting(last));
    if (waiting === undefined) return this.#enter(last, { given, turn });
    const calls = waitingCallsOf(waiting.reason);
    if (whenSuspended === "deny" || calls.length === 0) {
      if (!(await this.#runs.stopWaiting(last))) return { kind: "busy", runId: last.runId };
    } else if (whenSuspended === "queue") {
      await turn;
      await this.#runs.untilEnded(last);
    } else return { kind: "waiting", runId: last.runId, calls, error: waitingError(id, calls, "stop") };
    return undefined;
  }

  /** Waits for the conversation, or returns the answer that refuses the start. Returns undefined when the conversation is free. */
  async #enter(last: LastRun, { given, turn }: Entering): Promise<DurableStartAnswer | undefined> {
    const { whenBusy = this.#whenBusy, message } = given;
    if (await this.#bounded(() => this.#runs.isStopping(last)))
      return (await this.#runs.endsSoon(last)) ? undefined : { kind: "busy", runId: last.runId };
    if (whenBusy === "steer" && message !== undefined && !isReplacing(message)) {
      const known = refuseKnown(await this.#runs.givenTo(last.runId), message);
      if (known !== undefined) return known === "repeated" ? { kind: known, runId: last.runId } : { kind: known };
      if ((await this.#loop.steer(last.runId, message)) === "accepted") return { kind: "steered", ...this.#toHosted(last) };
    } else if (whenBusy !== "queue") return { kind: "busy", runId: last.runId };
    await turn;
    await this.#runs.untilFree(last);
    return undefined;
  }

  /** Starts the next run. Returns undefined if another call to `start` has already started the run with this number. */
  async #startNext(
    id: string,
    last: LastRun | undefined,
    { given, input = null }: NextStart,
  ): Promise<DurableStartAnswer | undefined> {
    const number = (last?.number ?? 0) + 1;
    const next: LastRun = { number, runId: `${id}/${number}`, state: "live" };
    const placed = await this.#place(last, given);
    if ("kind" in placed) return placed;
    const run: RunInput = { id, input, ...placed };
    const { store, find, start } = this.#engineOf();
    if (!(await start(next.runId, JSON.stringify(run)))) {
      if ((await find(next.runId)) !== undefined) return undefined;
      throw invalidOption("id", `a different id because the run "${next.runId}" belongs to a different loop`, id);
    }
    // Ignores an error, because `findLast` finds the run even if its number was not stored.
    await store.noteRuns(this.#runs.keyOf(id), number).catch(() => {});
    // Removes older runs now, because this run's input contains the transcript. A later start removes what is left.
    if (last !== undefined) await this.#runs.prune(id, last.number, this.#keepRuns).catch(() => {});
    return { kind: "started", ...this.#toHosted(next) };
  }

  async resume(
    id: string,
    options: { readonly answers: { readonly [id: string]: CallDecision | Json } },
  ): Promise<DurableResumeAnswer> {
    checkFields("options", options ?? {}, resumeChecks);
    const { answers } = options ?? {};
    const last = await this.#runs.findLast(id);
    if (last?.state !== "live") return this.#refuse(last);
    const { store } = this.#engineOf();
    const count = await store.countEvents(last.runId);
    await this.#decideAll(last.runId, answers);
    return { kind: "started", ...this.#toHosted(last, count) };
  }

  async join(id: string, options: DurableJoinOptions = {}): Promise<HostedStream | undefined> {
    checkFields("options", options, durableJoinChecks);
    const last = await this.#runs.findLast(id);
    if (last === undefined || last.state === "deleted") return undefined;
    const place = readPlace(options.from);
    if (place === undefined || place.number > last.number) return this.#toStream(last, options);
    const { number } = place;
    const runId = `${id}/${number}`;
    const hasRead = place.seq + 1 >= (await this.#engineOf().store.countEvents(runId));
    if (number < last.number) {
      return hasRead
        ? this.#toStream(last, { ...options, from: undefined })
        : this.#toStream({ number, runId, state: "ended" }, options);
    }
    const { endsWhenWaiting = true } = options;
    const isOver = hasRead && (last.state !== "live" || (endsWhenWaiting && (await this.#runs.findWaiting(last)) !== undefined));
    return this.#toStream(last, options, { isOver });
  }

  async #refuse(last: LastRun | undefined): Promise<Extract<DurableResumeAnswer, { readonly kind: "not-resumable" }>> {
    const { status = "running" } = (await this.#read(last)) ?? {};
    return { kind: "not-resumable", status: status === "running" ? undefined : status };
  }

  async retry(id: string): Promise<DurableResumeAnswer> {
    const last = await this.#runs.findLast(id);
    if (last?.state !== "failed") return this.#refuse(last);
    const count = await this.#engineOf().store.countEvents(last.runId);
    await this.#loop.retry(last.runId);
    return { kind: "started", ...this.#toHosted(last, count) };
  }

  async stop(id: string, request?: StopRequest): Promise<"accepted" | "not-running"> {
    return this.#end(id, (runId) => this.#loop.stop(runId, request));
  }

  async kill(id: string): Promise<"accepted" | "not-running"> {
    return this.#end(id, (runId) => this.#loop.kill(runId));
  }

  async #end(id: string, verb: (runId: string) => Promise<"accepted" | "finished">): Promise<"accepted" | "not-running"> {
    const last = await this.#runs.findLast(id);
    return last?.state === "live" && (await verb(last.runId)) === "accepted" ? "accepted" : "not-running";
  }

  async remove(id: string): Promise<"removed" | "unknown" | "busy"> {
    const last = await this.#runs.findLast(id);
    if (last?.state === "live") return "busy";
    const { store, remove } = this.#engineOf();
    if (last === undefined) return "unknown";
    // Stores the number before removing the runs, because afterwards only the number shows which ids were used.
    await store.noteRuns(this.#runs.keyOf(id), last.number);
    await remove(Array.from({ length: last.number }, (_, index) => `${id}/${index + 1}`));
    return last.state === "deleted" ? "unknown" : "removed";
  }

  async status(id: string): Promise<DurableHostStatus | undefined> {
    return this.#read(await this.#runs.findLast(id));
  }

  async #read(last: LastRun | undefined): Promise<DurableHostStatus | undefined> {
    if (last === undefined || last.state === "deleted") return undefined;
    const { runId, state, error } = last;
    const found = await this.#runs.inspect(last);
    if (found === undefined) return this.#toUnreadable(last);
    const { pendingCalls, version, lastVersion, reason } = found;
    const isLive = state === "live";
    const isRunning = found.status === "not-started" || found.status === "running";
    const messages = isLive && isRunning ? await this.#runs.givenTo(runId) : await this.#runs.messagesOf(last, found);
    const spent = await this.#runs.usageOf(last, found);
    const facts = { runId, isLive, messages, pendingCalls, version, lastVersion, ...spent };
    if (state === "failed") return { ...facts, status: "error", reason: undefined, error };
    return { ...facts, status: found.status === "not-started" ? "running" : found.status, reason };
  }

  async #toUnreadable(last: LastRun): Promise<DurableHostStatus> {
    const { runId, error } = last;
    const messages = await this.#runs.givenTo(runId);
    const spent = await this.#runs.usageOf(last, undefined);
    const facts = { pendingCalls: [], version: undefined, lastVersion: undefined, ...spent };
    return { ...facts, runId, status: "error", reason: undefined, error, isLive: false, messages };
  }

  /** Returns the next run's input, or the answer to a message that the conversation already contains. */
  async #place(last: LastRun | undefined, given: DurableStart): Promise<PlacedInput | DurableStartAnswer> {
    const { history, isCut } = await this.#runs.readHistory(last);
    const { status = "running" } = history.last ?? {};
    let placed = placeMessages(history, given, false);
    if (placed.kind === "repeated" && placed.isLast && failed.has(status)) placed = continueLast(history);
    if (placed.kind === "unknown-message") return placed;
    if (placed.kind === "repeated") return this.#answerRepeated(last, placed.isLast);
    const { messages, handover, own } = placed;
    const repair = isCut && given.messages === undefined;
    return { messages: messages as unknown as Json, repair, handover, own };
  }

  async #answerRepeated(last: LastRun | undefined, isLast: boolean): Promise<DurableStartAnswer> {
    if (last === undefined || !isLast) return { kind: "repeated", runId: last?.runId ?? "" };
    if (last.state === "failed") await this.#loop.retry(last.runId);
    return { kind: "started", repeated: true, ...this.#toHosted(last) };
  }

  #toHosted(run: LastRun, replayedBefore = 0): DurableHostedRun {
    return {
      runId: run.runId,
      result: () => this.#loop.result(run.runId),
      join: (options = {}) => {
        checkFields("options", options, durableJoinChecks);
        return this.#toStream(run, options, { replayedBefore });
      },
    };
  }

  #toStream(
    { number, runId }: LastRun,
    { from, signal, endsWhenWaiting = true }: DurableJoinOptions,
    { isOver = false, replayedBefore = 0 }: { readonly isOver?: boolean; readonly replayedBefore?: number } = {},
  ): HostedStream {
    const isKnown = readPlace(from)?.number === number;
    const events = this.#loop.events(runId, { from: toSeq(from, number), signal, endsWhenWaiting });
    return toHostedStream(events, { runId, isOver, restarted: from !== undefined && !isKnown, number, replayedBefore });
  }
}
