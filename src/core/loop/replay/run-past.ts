// Implements `Past`: the records of earlier executions, and whether this execution may make new steps.

import type { Answer, EarlierCall, Ending, Look, Outcome } from "../../types/middleware.ts";
import type { Journal } from "../../types/journal.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { WaitOptions } from "../../types/wait.ts";
import { endingOfReason, isEnded } from "../../../shared/cancellation/cancel-scope.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { partsOf } from "../call-drafts.ts";
import { isUnfinished } from "../../../shared/judge-finish.ts";
import { freezeDeep } from "../../../shared/json.ts";
import { Activity, Parked, type CallPast, type OpenedWait } from "../activity.ts";
import { compareMiddleware, JournalFailure, toJournalFailure } from "../hooks.ts";
import { type FirstRecord, isReplay, callPlace, nextKeyOf, placeOf, stepOf } from "../journals.ts";
import { findLimit, type Looking, type NextStep } from "../next-step.ts";
import type { AskedEnd, NewEnd, Recalled, Recording } from "../past.ts";
import { keyOf } from "../recorder.ts";
import { sendIterationStart } from "../run-iteration.ts";
import type { Nesting, Run } from "../run.ts";
import { lookKey, see } from "../run-tool-loop.ts";
import { takeBack } from "./take-back.ts";
import { type Answers, checkAnswers, findLateAnswer } from "./answers.ts";
import { type AnsweredRun, findAnswer } from "./find-answer.ts";
import { followRecords } from "./follow-records.ts";
import { GuardedJournal } from "./guarded-journal.ts";
import { claimJournal, type Close, closeFailed, liveJournals, openJournal, withPartial } from "./open-journal.ts";
import { recallCalls, recallTools, type ToolChanges } from "./recall.ts";
import { recallOutcome } from "./recall-outcome.ts";

/** The values that a run shares with the nested runs in its journal. */
interface Shared {
  readonly answers: Answers;
  /** The ids of the waits that have no answer yet. */
  readonly opened: Set<string>;
  readonly guard: GuardedJournal | undefined;
  /** The error with which the run rejects if an answer does not match what its wait expects. */
  refusal: LoopError | undefined;
}

export class RunPast implements AnsweredRun, CallPast {
  readonly run: Run;
  readonly shared: Shared;
  readonly journal: GuardedJournal | undefined;
  isReplayed: boolean;
  /** The position of the newest calls after which the journal already says how the run continued or ended. */
  #settledAt = "";
  /** True if the run ended at `#settledAt`, so calls may have been waiting. */
  #isCut = false;
  recalled: ReadonlyMap<string, Recalled>;
  #changes: ToolChanges = new Map();
  readonly #beganEnded: boolean;
  /** True if an earlier execution may have recorded steps of the newest message's calls. */
  #isRecalling = false;
  /** True if effects from an earlier execution were replayed, and the event that ends the replay has not been sent yet. */
  #hasReplayed = false;
  #close: Close | undefined;
  /** The journal that this run has reserved for itself. */
  #claimed: Journal | undefined;

  constructor(run: Run, nesting: Nesting | undefined) {
    const { answers = {}, journal } = run.options;
    this.run = run;
    this.isReplayed = true;
    this.recalled = new Map();
    this.journal = nesting?.journal === undefined && journal !== undefined ? new GuardedJournal(journal, run) : undefined;
    const own = { answers: new Map(Object.entries(answers)) as Answers, opened: new Set<string>(), guard: this.journal };
    this.shared = run.root.past instanceof RunPast ? run.root.past.shared : { ...own, refusal: undefined };
    this.#beganEnded = isEnded(run.scope);
  }

  /** True only for calls, because the requests and endings after them may still wait for answers. */
  get isSettled(): boolean {
    const { state } = this.run;
    return this.#settledAt === placeOf(state) && (state.phase === "answer" || state.phase === "calls");
  }

  get isSealed(): boolean {
    return this.isSettled || this.#isInSealed;
  }

  get #isInSealed(): boolean {
    const { root, outer } = this.run;
    return root !== this.run && outer?.past?.isSealed === true;
  }

  get isUndone(): boolean {
    return this.isReplayed && (this.#beganEnded || this.shared.answers.size > 0);
  }

  async open(): Promise<Ending | undefined> {
    const { run, journal } = this;
    const { journal: given } = run.options;
    if (journal !== undefined && given !== undefined) this.#claimed = claimJournal(given);
    const opened = journal && given && (await openJournal(given, journal));
    if (typeof opened === "object") return opened;
    this.#close = opened;
    const unknown = run.root === run ? await checkAnswers(run, this.shared.answers) : undefined;
    if (unknown === undefined) return undefined;
    // Replays the records to find the waiting calls that the error lists. Runs and records nothing new.
    await followRecords(run);
    const waiting = [...this.shared.opened].slice(0, maxListed);
    throw new LoopError("unknown-decision", { call: unknown, ...(waiting.length > 0 && { waiting }) });
  }

  async close(): Promise<void> {
    const close = this.#close;
    this.#close = undefined;
    if (close !== undefined) await this.journal?.ask({ verb: "close" }, close);
  }

  async fail(error: unknown): Promise<unknown> {
    const { run, journal } = this;
    if (this.#close !== undefined) await closeFailed(run, this.#close);
    return error instanceof JournalFailure && run.root === run ? withPartial(run, journal, error.cause) : error;
  }

  release(): void {
    if (this.#claimed !== undefined) liveJournals.delete(this.#claimed);
    this.journal?.release();
  }

  compare(first: FirstRecord, now: FirstRecord): void {
    for (const field of ["version", "runId", "messagesDigest"] as const) {
      if (field === "runId" && (first.runId === undefined || now.runId === undefined)) continue;
      if (first[field] !== now[field])
        throw new LoopError("journal-mismatch", { field, expected: String(now[field]), received: String(first[field]) });
    }
    compareMiddleware(first.middleware, now.middleware);
  }

  /** Throws the run's failure even if the tool that started a nested run caught that run's error. */
  check(): void {
    const { refusal, guard } = this.shared;
    const broken = refusal === undefined ? guard?.broken : { error: refusal };
    if (broken !== undefined) throw new JournalFailure(broken.error);
  }

  async record<T>(key: string, body: () => T | PromiseLike<T>, by: Recording): Promise<T> {
    const { refusal } = this.shared;
    // After a refused answer, nothing more may be recorded, not even the failure that the refusal causes in a tool.
    if (refusal !== undefined) throw new JournalFailure(refusal);
    const { past } = this.run.root;
    let isLive = false;
    const live = (): T | PromiseLike<T> => {
      isLive = true;
      this.noteLive();
      if (by instanceof Activity) {
        by.isLive = true;
        past?.endReplay();
      }
      return body();
    };
    try {
      const value = await by.journal.step(key, live);
      if (by instanceof Activity) {
        by.isLive = isLive;
        if (!isLive && past instanceof RunPast) past.#noteReplayed();
      }
      return value;
    } catch (error) {
      throw toJournalFailure(error);
    }
  }

  noteLive(): void {
    const { run } = this;
    this.isReplayed = false;
    if (run.root !== run && run.outer?.past instanceof RunPast) run.outer.past.noteLive();
    // The run's time limit starts with the first new step, which is this one.
    run.startWallClock();
  }

  #noteReplayed(): void {
    if (this.isReplayed) this.#hasReplayed = true;
  }

  endReplay(): void {
    if (!this.#hasReplayed) return;
    this.#hasReplayed = false;
    this.run.send("replay-end", {});
  }

  async follow(decided: NextStep): Promise<NextStep> {
    const { state } = this.run;
    if (!this.isReplayed || decided.kind !== "look" || state.phase !== "answer") return decided;
    const answer = state.answers.at(-1);
    const isPaused = state.skipped === undefined && answer !== undefined && isUnfinished(answer);
    const place = `${placeOf(state)}/${stepOf("request", state.continuation)}`;
    for (const record of isPaused ? ["model", "ended"] : [])
      if (await this.#has(`${place}/${record}`)) return { kind: "request" };
    const places = state.current.calls.map(({ name }, index) => `${callPlace(state, index, name)}/outcome`);
    for (const key of [nextKeyOf(state), ...places]) if (await this.#has(key)) return { kind: "calls" };
    return decided;
  }

  showRecorded(answer: Answer): void {
    const { run } = this;
    const { state } = run;
    const firstIndex = state.continuation === 0 ? 0 : state.current.calls.length;
    this.#changes = recallTools(run, answer);
    run.toolChoice = answer.toolChoice;
    run.prepared = new Map();
    for (const [index, { callId }] of answer.calls.entries()) run.places.set(callId, firstIndex + index);
    sendIterationStart(run, true);
    for (const part of partsOf(answer)) {
      if (part.type !== "call") {
        if (part.text !== "") run.send(`${part.type}-delta`, { text: part.text }, true);
        continue;
      }
      for (const call of part.calls) {
        const { args, problem } = call;
        run.send("tool-args-end", run.aboutCall(call, { args: freezeDeep(args), problem }), true);
      }
    }
  }

  async recallCalls(calls: readonly ToolCall[]): Promise<void> {
    const { run } = this;
    this.#isRecalling = this.isReplayed;
    this.recalled = new Map();
    const next = this.isReplayed && ((await run.journal.read(run.prefix + nextKeyOf(run.state))) as Look | undefined);
    if (next) [this.#settledAt, this.#isCut] = [placeOf(run.state), next.ending !== undefined];
    if (this.isReplayed && !this.isSettled) this.recalled = await recallCalls(run, calls, this.#changes);
  }

  findEarlier(activity: Activity, owner: string): EarlierCall {
    const { path, journal, call } = activity;
    const recalled = this.recalled.get(call?.callId ?? path);
    return {
      isChanged: call !== undefined && this.#changes.has(call.name) && recalled?.hasRun === false,
      isOver: this.isSealed || recalled?.hasRun === true,
      wasAsked: recalled?.wasAsked === true,
      isRecorded: (step) =>
        this.#isRecalling
          ? activity.inCore(async () => (await journal.read(keyOf(activity, owner, step))) !== undefined)
          : undefined,
    };
  }

  findAnswer<Answer>(activity: Activity, wait: OpenedWait, options: WaitOptions<Answer>): Promise<Answer | Parked> {
    return findAnswer(this, activity, { wait, options });
  }

  async findEnd(activity: Activity, keys: readonly string[]): Promise<Outcome | Parked | undefined> {
    const { run, journal, place, isEarly } = activity;
    if (!this.#isRecalling || isEarly || isReplay(journal)) return undefined;
    const ended = (await journal.read(`${run.prefix}${place}/ended`)) as Outcome | undefined;
    // Avoids reading most outcomes twice: a call without an end record matters here only if this run or its outer run has ended.
    if (ended === undefined && !this.#isInSealed && !(this.isSettled && this.#isCut)) return undefined;
    for (const key of keys) if ((await journal.read(key)) !== undefined) return undefined;
    return ended ?? new Parked([]);
  }

  async recallOutcome(
    activity: Activity,
    key: string,
    execute: (fork: Activity) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    const { answers } = this.shared;
    const findLate = (path: string): Promise<string | undefined> => findLateAnswer(this.run, answers, path);
    const recalled = await recallOutcome(activity, key, { execute, findLate });
    if (recalled?.late !== undefined) throw this.refuse(new LoopError("unknown-decision", { call: recalled.late }));
    return recalled?.outcome;
  }

  /** Returns the error that the run rejects with, even if a tool or a middleware catches it. */
  refuse(cause: LoopError): JournalFailure {
    this.shared.refusal = cause;
    return new JournalFailure(cause);
  }

  isRetried(planned: Ending | undefined): boolean {
    const { isRequestReplayed, state } = this.run;
    if (planned === undefined || !isRequestReplayed) return false;
    return state.answers.at(-1)?.status === planned.status && this.#mayRetry(planned);
  }

  /** True if this execution repeats a request that ended with this status in an earlier execution. */
  #mayRetry({ status }: Ending): boolean {
    const { options, scope } = this.run;
    const isInVain = status === "error" || status === "timeout" || status === "stopped-by-user";
    return options.resume === "retry-last" && isInVain && scope.cause === undefined;
  }

  /**
   * Records how middleware changed an ending. If its options have changed, middleware may continue where an earlier execution ended,
   * but must not end where an earlier execution continued. The newest record counts.
   */
  async recordAsked(first: string, { record, isChanged }: NewEnd): Promise<AskedEnd> {
    const { run } = this;
    for (let count = 1; ; count += 1) {
      const key = count === 1 ? first : `${first}~${count}`;
      const read = this.isReplayed && !isChanged ? await run.journal.read(run.prefix + key) : undefined;
      const recorded = isChanged ? await run.step<AskedEnd>(key, () => record) : (read as AskedEnd | undefined);
      if (recorded === undefined || kindOf(recorded) === kindOf(record)) return record;
      if ("again" in recorded) return recorded;
    }
  }

  async #has(key: string): Promise<boolean> {
    const { journal, prefix } = this.run;
    return (await journal.read(prefix + key)) !== undefined;
  }

  /**
   * Returns the ending of a run whose calls are waiting. If the run was cancelled before this execution did anything new, its calls keep
   * waiting, and the caller receives the cancellation as the ending.
   */
  endUndone(ending: Ending): Ending {
    const { scope, root } = this.run;
    const { cause } = scope;
    if (cause === undefined || !this.isReplayed || root !== this.run) return ending;
    return isEnded(scope) || this.shared.answers.size > 0 ? endingOfReason(cause) : ending;
  }

  takeBack(): void {
    const { run, isReplayed } = this;
    if (takeBack(run.state)) run.send("attempt-discarded", {}, isReplayed);
  }

  async findContinuation(ending: Ending): Promise<Looking | undefined> {
    const { journal, prefix, root, planned, state } = this.run;
    const { base, count } = state.lookAttempt;
    const nextKey = prefix + lookKey({ lookAttempt: { base, count: count + 1 } });
    const recorded = (await journal.read(nextKey)) as { readonly retries?: true } | undefined;
    const isOver = this.#isInSealed || root.records.readOnly === true || isReplay(journal);
    if (recorded === undefined && isOver) return undefined;
    if (ending.reason.kind === "drained") return { planned };
    return recorded === undefined ? this.#findRoom(ending) : { retries: recorded.retries === true };
  }

  /** Lets a run that ended at a limit continue if the limit is higher now. */
  #findRoom(ending: Ending): Looking | undefined {
    const { run } = this;
    const { state, limits } = run;
    const { reason } = ending;
    const { kind } = reason;
    // Compares the limits here, because after a final answer the newest message no longer contains the refused call.
    if (reason.kind === "max-tool-calls" && limits.maxToolCalls <= reason.limit) return undefined;
    // Leaves out streams interrupted by the time limit, because they are repeated only with the `resume` option.
    const isCutOff = kind === "wall-clock" && run.planned !== undefined;
    const seen = limited.has(kind) && !isCutOff ? see(run) : undefined;
    if (seen !== undefined && findLimit(state, seen, limits) === undefined) return {};
    // Passes 0 as the error count, because a retry resets that count.
    const isLimited = seen !== undefined && findLimit({ ...state, consecutiveToolErrors: 0 }, seen, limits) !== undefined;
    return !isLimited && this.#mayRetry(ending) ? { retries: true } : undefined;
  }
}

function kindOf(end: AskedEnd): string {
  return "again" in end ? "again" : end.ending.reason.kind;
}

const maxListed = 10;

const limited: ReadonlySet<string> = new Set([
  "max-iterations",
  "max-tool-calls",
  "max-tokens",
  "max-cost",
  "cost-unknown",
  "wall-clock",
  "tool-error-cap",
]);
