import { checkFields, invalidOption } from "../core/kit.ts";
import type { OutsideResult } from "../core/types/middleware-options.ts";
import type { StopRequest } from "../core/types/loop-options.ts";
import { isLoopError, type LoopResult, type UserMessage } from "../core/index.ts";
import { checkId } from "../conversation/check-id.ts";
import type { StoredConversation, StoredListing } from "../conversation/conversation-store.ts";
import { cancelRun, emptyConversation, emptyState, endRun, listJournals, usageOf } from "../conversation/conversation-state.ts";
import { type KeepRuns, pruneJournals } from "../conversation/keep-runs.ts";
import { isReplacing, refuseKnown } from "../conversation/next-messages.ts";
import type { WhenSuspended } from "../conversation/waiting-calls.ts";
import type { PageMessage } from "../web/read-user-message.ts";
import { type ConversationLimits, Conversations, type Entered } from "./conversations.ts";
import type { BoundLock, BoundStore } from "./bound-store.ts";
import { type ExecutionEnd, executeRun } from "./execute-run.ts";
import { planResume, planStart, readEnding, readLive, type RunPlan, type UnstartedAnswer } from "./plan-run.ts";
import type {
  CancelAnswer,
  HostedRun,
  HostedStatus,
  HostedStream,
  JoinOptions,
  RemoveAnswer,
  ResumeAnswer,
  ResumeOptions,
  RunHost,
  RunHostOptions,
  StartAnswer,
  StartOptions,
  WhenBusy,
} from "./run-host.ts";
import type { RunTurn } from "./run-turn.ts";
import { joinChecks, readResume, readStart, type ReadStart } from "./start-options.ts";

export interface HostSettings extends ConversationLimits {
  readonly store: BoundStore;
  readonly whenBusy: WhenBusy;
  readonly whenSuspended: WhenSuspended;
  readonly keepRuns: KeepRuns;
  readonly stopWhenUnread: boolean;
  readonly wrapOptions: RunHostOptions["wrapOptions"];
}

type Refused = Extract<ResumeAnswer, { readonly kind: "not-resumable" }>;

/** The host behind `createRunHost`. `createRunHost` adds the public types of `start` and `resume`, which depend on the options. */
export class Host implements Omit<RunHost, "start" | "resume"> {
  readonly #settings: HostSettings;
  readonly #conversations: Conversations;

  constructor(settings: HostSettings) {
    this.#settings = settings;
    this.#conversations = new Conversations(settings);
  }

  async start(id: string, options: StartOptions): Promise<StartAnswer> {
    checkId(id);
    const given = readStart(options);
    const { whenSuspended = this.#settings.whenSuspended } = given;
    const entered = await this.#enterOrSteer(id, given);
    if (entered.kind !== "entered") return entered;
    for (let own: RunTurn | undefined = entered.turn; own !== undefined;) {
      const turn: RunTurn = own;
      turn.stopWhenUnread = given.stopWhenUnread ?? this.#settings.stopWhenUnread;
      const plan = (stored: StoredConversation) => planStart(this.#settings.store, { id, turn, given, whenSuspended }, stored);
      const answer = await this.#run(id, turn, { plan, keepsPlace: whenSuspended === "queue" });
      if (answer.kind !== "waiting" || whenSuspended !== "queue") return answer;
      own = await this.#conversations.waitForChange(id, turn);
    }
    return { kind: "closed" };
  }

  async resume(id: string, options: ResumeOptions): Promise<ResumeAnswer> {
    checkId(id);
    const { loop, stopWhenUnread, whenBusy } = readResume(options);
    const entered = await this.#enterToResume(id, whenBusy === "queue");
    if (entered.kind === "closed") return entered;
    const { turn } = entered;
    if (entered.kind === "busy") return this.#toBusy(id, turn);
    turn.stopWhenUnread = stopWhenUnread ?? this.#settings.stopWhenUnread;
    const takeLog = (number: number, epoch: string | undefined) => this.#conversations.takeLog(id, number, epoch);
    const plan = (stored: StoredConversation) => planResume(this.#settings.store, { turn, loop, takeLog }, stored);
    return this.#run(id, turn, { plan });
  }

  join(id: string, options: JoinOptions = {}): HostedStream | undefined {
    checkId(id);
    checkFields("options", options, joinChecks);
    return this.#conversations.join(id, options);
  }

  stop(id: string, request?: StopRequest): "accepted" | "not-running" {
    checkId(id);
    return this.#conversations.currentOf(id)?.stop(request) ?? "not-running";
  }

  async cancel(id: string, request: StopRequest = {}): Promise<CancelAnswer> {
    checkId(id);
    return this.#change<CancelAnswer>(id, async ({ stored, append }) => {
      const { lastRun } = stored?.state ?? emptyState;
      if (stored === undefined || lastRun?.status !== "suspended") return "not-suspended";
      await append(cancelRun(stored, lastRun, request));
      return "cancelled";
    });
  }

  async remove(id: string): Promise<RemoveAnswer> {
    checkId(id);
    const { store } = this.#settings;
    return this.#change<RemoveAnswer>(id, async ({ stored, release }) => {
      // Removes the journals first, because only the conversation lists their names.
      for (const { runId } of listJournals(stored?.state ?? emptyState)) await store.removeJournal?.(runId);
      await release();
      await store.remove(id);
      this.#conversations.forget(id);
      return stored === undefined ? "unknown" : "removed";
    });
  }

  list(): AsyncIterable<StoredListing> {
    const { store } = this.#settings;
    const list = store.list?.bind(store);
    if (list === undefined)
      throw invalidOption("store.list", "a function because the host uses it to list conversations", undefined);
    return (async function* () {
      yield* list();
    })();
  }

  /** Reserves a conversation for a change that does not start a run. */
  async #change<Answer>(id: string, change: (lock: BoundLock) => Promise<Answer>): Promise<Answer | "busy" | "closed"> {
    const entered = await this.#conversations.enter(id, { caller: "resume", waits: false });
    if (entered.kind !== "entered") return entered.kind;
    let lock: BoundLock | undefined;
    try {
      lock = await this.#settings.store.lock(id);
      return await change(lock);
    } catch (error) {
      if (isElsewhere(error)) return "busy";
      throw error;
    } finally {
      await lock?.release();
      this.#conversations.leave(id, entered.turn, false);
    }
  }

  answer(id: string, question: string, answer: OutsideResult): "accepted" | "unknown" {
    checkId(id);
    return this.#conversations.currentOf(id)?.control.answer(question, answer) ?? "unknown";
  }

  async status(id: string): Promise<HostedStatus | undefined> {
    checkId(id);
    const ending = this.#conversations.currentOf(id);
    // Waits until the run's end is stored, because a reader may call this right after `run-end`.
    if (ending?.isEnding === true) await ending.settled.promise;
    const stored = await this.#settings.store.load(id);
    const { lastRun } = stored?.state ?? emptyState;
    if (stored === undefined || lastRun === undefined) return undefined;
    const { state } = stored;
    const current = this.#conversations.currentOf(id);
    if (current === undefined) this.#conversations.forgetOutdated(id, state.runs, lastRun.epoch);
    const isLive = current?.isOpen === true && current.number === state.runs;
    const shown = isLive ? readLive(stored, lastRun) : await readEnding(this.#settings.store, stored, lastRun);
    const queued = this.#conversations.waitingOf(id);
    return { runId: lastRun.runId, isLive, queued, ...shown, turns: state.turns ?? [], ...usageOf(state) };
  }

  close(): Promise<void> {
    return this.#conversations.close();
  }

  async #enterOrSteer(id: string, given: ReadStart): Promise<Extract<Entered, { readonly kind: "entered" }> | StartAnswer> {
    const { whenBusy = this.#settings.whenBusy, message } = given;
    for (;;) {
      // Checks first whether the live run already answers this message, because the call then does not have to wait for the run to end.
      const live = this.#findRepeated(id, message);
      if (live !== undefined) {
        if (await live.opened.promise) return { kind: "started", repeated: true, ...toHostedRun(live) };
        await live.settled.promise;
        continue;
      }
      const entered = await this.#conversations.enter(id, { caller: "start", waits: whenBusy === "queue", message });
      if (entered.kind !== "busy") return entered;
      const { turn } = entered;
      if (whenBusy !== "steer" || message === undefined || isReplacing(message)) return this.#toBusy(id, turn);
      if (!(await turn.opened.promise)) continue;
      const answer = await this.#steer(turn, message);
      if (answer !== undefined) return answer;
      await turn.settled.promise;
    }
  }

  /** Sends a message to the live run. Returns undefined if the run no longer accepts messages. */
  async #steer(turn: RunTurn, message: UserMessage): Promise<StartAnswer | undefined> {
    const known = refuseKnown(turn.stored?.messages ?? [], message);
    if (known !== undefined) return known === "repeated" ? { kind: known, runId: turn.runId } : { kind: known };
    const steered = await turn.steer(message);
    if (steered === "repeated") return { kind: "started", repeated: true, ...toHostedRun(turn) };
    return steered === "steered" ? { kind: steered, ...toHostedRun(turn) } : undefined;
  }

  /**
   * Reserves the conversation for a resume. Tries again if the call to `start` that had reserved it is refused, for example because calls
   * are waiting. Otherwise, the decisions about these calls would be answered with "busy".
   */
  async #enterToResume(id: string, waits: boolean): Promise<Entered> {
    for (;;) {
      const entered = await this.#conversations.enter(id, { caller: "resume", waits });
      if (entered.kind !== "busy" || (await entered.turn.opened.promise)) return entered;
    }
  }

  /** Returns the live run if it answers this message, or received it as a steering message. */
  #findRepeated(id: string, message: PageMessage | undefined): RunTurn | undefined {
    const live = this.#conversations.currentOf(id);
    return message !== undefined && message.again === undefined && live?.has(message) === true ? live : undefined;
  }

  /**
   * Resolves when the run does something new. Rejects if the run is refused before it has done anything new. If `keepsPlace` is true
   * and calls are waiting, the conversation stays reserved.
   */
  async #run<Unstarted extends Refused | UnstartedAnswer>(
    id: string,
    turn: RunTurn,
    { plan, keepsPlace = false }: Planning<Unstarted>,
  ): Promise<BegunAnswer | Unstarted> {
    let planned: RunPlan | Unstarted;
    let lock: BoundLock | undefined;
    try {
      lock = await this.#settings.store.lock(id);
      planned = await plan(lock.stored ?? emptyConversation);
    } catch (error) {
      await lock?.release();
      this.#conversations.leave(id, turn, turn.isJoinable);
      return this.#toBusy(id, turn, error);
    }
    if ("kind" in planned) {
      await lock.release();
      if (planned.kind !== "waiting" || !keepsPlace) this.#conversations.leave(id, turn, turn.isJoinable);
      return planned;
    }
    const { changed, isRepeated } = planned;
    const { wrapOptions } = this.#settings;
    const running = executeRun(turn, planned, { lock, changed, wrapOptions });
    turn.result = this.#finish(id, turn, { plan: planned, lock, running });
    // Marks the promise as handled, in case nobody awaits the result.
    turn.result.catch(() => {});
    const end = await Promise.race([turn.begun.promise, running]);
    if (end?.kind !== "broken") return { kind: "started", ...(isRepeated === true && { repeated: true }), ...toHostedRun(turn) };
    await turn.settled.promise;
    return this.#toBusy(id, turn, end.error);
  }

  /** Stores the end of a run. If this fails, the stored status stays "running", and the end is later read from the journal. */
  async #finish(id: string, turn: RunTurn, { plan, lock, running }: Finishing): Promise<LoopResult> {
    const end = await running;
    await turn.finishWrites();
    const { stored = plan.changed.stored, isOpen } = turn;
    if (end.kind === "ended") {
      const { result } = end;
      const journals = await this.#pruneJournals(stored, plan, result);
      await lock.append(endRun(stored, { start: plan.messages.length, result, journals })).catch(() => {});
    } else if (isOpen && end.isRefused && plan.changed.undo !== undefined) {
      await lock.append(plan.changed.undo).catch(() => {});
    }
    await lock.release();
    this.#conversations.leave(id, turn, end.kind === "ended" || plan.isContinued || (isOpen && !end.isRefused));
    if (end.kind === "ended") return end.result;
    throw end.error;
  }

  #pruneJournals({ state }: StoredConversation, { loop }: RunPlan, result: LoopResult): ReturnType<typeof pruneJournals> {
    const { store, keepRuns } = this.#settings;
    return pruneJournals(state, { result, isPriced: loop.pricing !== undefined }, { keepRuns, remove: store.removeJournal });
  }

  /**
   * Returns the "busy" answer for a conversation with a live run, in this or another process. Throws `error` if it has a different cause.
   */
  async #toBusy(id: string, { runId }: RunTurn, error?: unknown): Promise<Extract<StartAnswer, { readonly kind: "busy" }>> {
    if (error !== undefined && !isElsewhere(error)) throw error;
    if (runId !== "" || error === undefined) return { kind: "busy", runId: runId === "" ? undefined : runId };
    return { kind: "busy", runId: (await this.#settings.store.load(id))?.state.lastRun?.runId };
  }
}

interface Finishing {
  readonly plan: RunPlan;
  readonly lock: BoundLock;
  readonly running: Promise<ExecutionEnd>;
}

type BegunAnswer = Extract<StartAnswer, { readonly kind: "started" | "busy" }>;

interface Planning<Unstarted> {
  readonly plan: (stored: StoredConversation) => Promise<RunPlan | Unstarted>;
  readonly keepsPlace?: boolean | undefined;
}

function toHostedRun(turn: RunTurn): HostedRun {
  const { runId, result = Promise.reject(new Error("The run has not started yet.")) } = turn;
  return { runId, result, join: (options) => turn.read(options, true) };
}

/** True if the error means that another process has locked the conversation. */
function isElsewhere(error: unknown): boolean {
  return (
    isLoopError(error, "conversation-busy") ||
    isLoopError(error, "journal-locked") ||
    (isLoopError(error, "already-running") && error.details.what !== "control")
  );
}
