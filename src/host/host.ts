import { checkFields, invalidOption, type OutsideResult, type StopRequest } from "../core/kit.ts";
import { isLoopError, type LoopResult, type UserMessage } from "../core/index.ts";
import type { PageMessage } from "../web/read-user-message.ts";
import { type ConversationLimits, Conversations, type Entered } from "./conversations.ts";
import type { BoundStore } from "./bound-store.ts";
import { addReport, lateMessagesOf, leaveRun, noHandover, toUsage } from "./handover.ts";
import { type EndedFacts, type KeepRuns, mayRemove, pruneJournals } from "./keep-runs.ts";
import { type ExecutionEnd, executeRun } from "./execute-run.ts";
import { isReplacing, refuseKnown } from "./next-messages.ts";
import {
  BusyError,
  checkUnchanged,
  findUnsent,
  keepTurns,
  lockRecord,
  planResume,
  planStart,
  readEnding,
  type RunPlan,
  type UnstartedAnswer,
  withoutSteered,
} from "./plan-run.ts";
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
import type { ConversationRecord, ListedConversation } from "./run-store.ts";
import type { RunTurn } from "./run-turn.ts";
import { checkId, joinChecks, readResume, readStart, type ReadStart } from "./start-options.ts";
import { settleWaiting, type WhenSuspended } from "./waiting-calls.ts";

export interface HostSettings extends ConversationLimits {
  readonly store: BoundStore;
  readonly whenBusy: WhenBusy;
  readonly whenSuspended: WhenSuspended;
  readonly keepRuns: KeepRuns;
  readonly stopWhenUnread: boolean;
  readonly wrapOptions: RunHostOptions["wrapOptions"];
}

type Refused = Extract<ResumeAnswer, { readonly kind: "not-resumable" }>;

/** Options determine the types of runs, so `createRunHost` gives `start` and `resume` their public types. */
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
      const plan = () => planStart(this.#settings.store, { id, turn, given, whenSuspended });
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
    if (entered.kind === "busy") return { kind: "busy", runId: runIdOf(turn) };
    turn.stopWhenUnread = stopWhenUnread ?? this.#settings.stopWhenUnread;
    const takeLog = (number: number, epoch: string | undefined) => this.#conversations.takeLog(id, number, epoch);
    const plan = () => planResume(this.#settings.store, { id, turn, loop, takeLog });
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
    const { store } = this.#settings;
    return this.#change<CancelAnswer>(id, async (record) => {
      if (record?.status !== "suspended") return "not-suspended";
      await store.write(id, toCancelled(record, request));
      return "cancelled";
    });
  }

  async remove(id: string): Promise<RemoveAnswer> {
    checkId(id);
    const { store } = this.#settings;
    const remove = store.remove?.bind(store);
    if (remove === undefined)
      throw invalidOption("store.remove", "a function, because the host removes conversations with it", undefined);
    return this.#change<RemoveAnswer>(id, async () => {
      await remove(id);
      this.#conversations.forget(id);
      return "removed";
    });
  }

  list(): AsyncIterable<ListedConversation> {
    const { store } = this.#settings;
    const list = store.list?.bind(store);
    if (list === undefined)
      throw invalidOption("store.list", "a function, because the host lists conversations with it", undefined);
    return (async function* () {
      yield* list();
    })();
  }

  /** Reserves a conversation for a change that starts no run. */
  async #change<Answer>(
    id: string,
    change: (record: ConversationRecord | undefined) => Promise<Answer>,
  ): Promise<Answer | "busy" | "closed"> {
    const entered = await this.#conversations.enter(id, { caller: "resume", waits: false });
    if (entered.kind !== "entered") return entered.kind;
    try {
      const { record, release } = await lockRecord(this.#settings.store, id);
      try {
        // Another process may have begun the next run before the journal was locked.
        await checkUnchanged(this.#settings.store, id, record);
        return await change(record);
      } finally {
        await release().catch(() => {});
      }
    } catch (error) {
      if (isElsewhere(error)) return "busy";
      throw error;
    } finally {
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
    // A reader may get the `run-end` event before the ending is stored.
    if (ending?.isEnding === true) await ending.settled.promise;
    const record = await this.#settings.store.read(id);
    if (record === undefined) return undefined;
    const { runs } = record;
    const current = this.#conversations.currentOf(id);
    const isLive = current?.isOpen === true && current.number === runs;
    const { status, reason, messages } = isLive ? record : await readEnding(this.#settings.store, id, record);
    const { handover = noHandover, report = {}, turns = [] } = record;
    const queued = this.#conversations.waitingOf(id);
    return {
      runId: `${id}/${runs}`,
      status,
      reason,
      isLive,
      queued,
      messages,
      turns,
      ...toUsage(addReport(handover, report), runs),
    };
  }

  close(): Promise<void> {
    return this.#conversations.close();
  }

  async #enterOrSteer(id: string, given: ReadStart): Promise<Extract<Entered, { readonly kind: "entered" }> | StartAnswer> {
    const { whenBusy = this.#settings.whenBusy, message } = given;
    for (;;) {
      // The live run may answer this message already, so the call must not wait for its end.
      const live = this.#findRepeated(id, message);
      if (live !== undefined) {
        if (await live.opened.promise) return { kind: "started", repeated: true, ...toHostedRun(live) };
        await live.settled.promise;
        continue;
      }
      const entered = await this.#conversations.enter(id, { caller: "start", waits: whenBusy === "queue", message });
      if (entered.kind !== "busy") return entered;
      const { turn } = entered;
      if (whenBusy !== "steer" || message === undefined || isReplacing(message)) return { kind: "busy", runId: runIdOf(turn) };
      if (!(await turn.opened.promise)) continue;
      const answer = await this.#steer(id, turn, message);
      if (answer !== undefined) return answer;
      await turn.settled.promise;
    }
  }

  /** Returns undefined if the live run no longer accepts messages. */
  async #steer(id: string, turn: RunTurn, message: UserMessage): Promise<StartAnswer | undefined> {
    const known = refuseKnown(turn.record?.messages ?? [], message);
    if (known !== undefined) return known === "repeated" ? { kind: known, runId: turn.runId } : { kind: known };
    const steered = await turn.steer(message, (record) => this.#settings.store.write(id, record));
    if (steered === "repeated") return { kind: "started", repeated: true, ...toHostedRun(turn) };
    return steered === "steered" ? { kind: steered, ...toHostedRun(turn) } : undefined;
  }

  /** A start that is refused, for example because calls wait, must not make the decisions about these calls busy. */
  async #enterToResume(id: string, waits: boolean): Promise<Entered> {
    for (;;) {
      const entered = await this.#conversations.enter(id, { caller: "resume", waits });
      if (entered.kind !== "busy" || (await entered.turn.opened.promise)) return entered;
    }
  }

  /** Returns the live run if it answers this message, or has got it by steering. */
  #findRepeated(id: string, message: PageMessage | undefined): RunTurn | undefined {
    const live = this.#conversations.currentOf(id);
    return message !== undefined && message.again === undefined && live?.has(message) === true ? live : undefined;
  }

  /**
   * Resolves when the run does something new. Rejects if the run is refused before it has done anything new. If `keepsPlace` is true
   * and calls wait, the conversation stays reserved.
   */
  async #run<Unstarted extends Refused | UnstartedAnswer>(
    id: string,
    turn: RunTurn,
    { plan, keepsPlace = false }: Planning<Unstarted>,
  ): Promise<BegunAnswer | Unstarted> {
    let planned: RunPlan | Unstarted;
    try {
      planned = await plan();
    } catch (error) {
      this.#conversations.leave(id, turn, turn.isJoinable);
      return toBusy(turn, error);
    }
    if ("kind" in planned) {
      if (planned.kind !== "waiting" || !keepsPlace) this.#conversations.leave(id, turn, turn.isJoinable);
      return planned;
    }
    const running = executeRun(turn, { ...planned, wrapOptions: this.#settings.wrapOptions });
    turn.result = this.#finish(id, turn, { plan: planned, running });
    // Avoids an unhandled rejection if nobody awaits the result.
    turn.result.catch(() => {});
    const end = await Promise.race([turn.begun.promise, running]);
    await planned.release();
    if (end?.kind !== "broken")
      return { kind: "started", ...(planned.isRepeated === true && { repeated: true }), ...toHostedRun(turn) };
    await turn.settled.promise;
    return toBusy(turn, end.error);
  }

  async #finish(id: string, turn: RunTurn, { plan, running }: Finishing): Promise<LoopResult> {
    const end = await running;
    const { store } = this.#settings;
    if (end.kind === "ended") {
      try {
        const journals = await this.#pruneJournals(id, turn, { result: end.result, isPriced: plan.loop.pricing !== undefined });
        await this.#write(id, turn, { ...toRecord(turn, end.result), journals });
        await store.close(end.unlock);
      } finally {
        this.#conversations.leave(id, turn, true);
      }
      return end.result;
    }
    await turn.finishWrites();
    if (turn.isOpen && end.isRefused && plan.previous !== undefined) await this.#write(id, turn, plan.previous);
    await store.close(end.unlock).catch(() => {});
    this.#conversations.leave(id, turn, plan.isContinued || (turn.isOpen && !end.isRefused));
    throw end.error;
  }

  /** Removes the journals of old runs, whose answers are in the stored transcript. Returns the journals that are left. */
  async #pruneJournals(id: string, { number, record }: RunTurn, ended: EndedFacts): Promise<ConversationRecord["journals"]> {
    const { store, keepRuns } = this.#settings;
    if (store.removeJournal === undefined) return undefined;
    const now = Date.now();
    const own = mayRemove(ended) ? [{ number, endedAt: now }] : [];
    const earlier = (record?.journals ?? []).filter((one) => one.number !== number);
    const remove = (one: { readonly number: number }) => store.removeJournal?.(id, one.number);
    return [...(await pruneJournals(earlier, { number, keepRuns, now }, remove)), ...own];
  }

  /** If the write fails, the stored status stays "running", and the host later reads the ending from the journal. */
  async #write(id: string, { number, log }: RunTurn, record: ConversationRecord): Promise<void> {
    const { store } = this.#settings;
    try {
      const now = await store.read(id);
      // Another process may have taken over the conversation since the journal was closed.
      if (now?.runs === number && now.epoch === log.epoch) await store.write(id, record);
    } catch {
      return;
    }
  }
}

interface Finishing {
  readonly plan: RunPlan;
  readonly running: Promise<ExecutionEnd>;
}

type BegunAnswer = Extract<StartAnswer, { readonly kind: "started" | "busy" }>;

interface Planning<Unstarted> {
  readonly plan: () => Promise<RunPlan | Unstarted>;
  readonly keepsPlace?: boolean | undefined;
}

function toRecord({ number, runId, log: { epoch }, record }: RunTurn, result: LoopResult): ConversationRecord {
  const { status, reason, usage, costUSD } = result;
  const { messages: initialMessages = [], steered = [], own = 0, handover: before = noHandover, turns = [] } = record ?? {};
  const { messages, handover, report } = leaveRun(result, { own, handover: before });
  const from = Math.min(initialMessages.length, messages.length);
  // A resumed run may return a message twice: from its journal, and because it got the message again.
  const unsent = findUnsent(steered, { messages: result.messages, initialMessages });
  const turn = { runId, from, to: messages.length, status, reason, usage, costUSD };
  const earlier = keepTurns(
    turns.filter((one) => one.runId !== runId),
    from,
  );
  return {
    runs: number,
    status,
    reason,
    messages,
    epoch,
    undelivered: [...unsent, ...withoutSteered(lateMessagesOf(result), steered)],
    steered,
    own,
    handover,
    report,
    turns: [...(earlier ?? []), turn],
  };
}

function toCancelled(record: ConversationRecord, { requester, note }: StopRequest): ConversationRecord {
  const { messages, turns = [] } = record;
  const reason = { kind: "stopped", requester, note } as const;
  const last = turns.at(-1);
  return {
    ...record,
    status: "stopped-by-user",
    reason,
    messages: settleWaiting(messages, true),
    ...(last !== undefined && { turns: [...turns.slice(0, -1), { ...last, status: "stopped-by-user", reason }] }),
  };
}

function runIdOf({ runId }: RunTurn): string | undefined {
  return runId === "" ? undefined : runId;
}

function toHostedRun(turn: RunTurn): HostedRun {
  const { runId, result = Promise.reject(new Error("The run has not begun.")) } = turn;
  return { runId, result, join: (options) => turn.read(options, true) };
}

function toBusy(turn: RunTurn, error: unknown): BegunAnswer {
  if (isElsewhere(error)) return { kind: "busy", runId: runIdOf(turn) };
  throw error;
}

/** True if another process has the conversation. */
function isElsewhere(error: unknown): boolean {
  return (
    error instanceof BusyError ||
    isLoopError(error, "journal-locked") ||
    (isLoopError(error, "already-running") && error.details.what !== "control")
  );
}
