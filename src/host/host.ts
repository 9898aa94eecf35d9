import { checkFields, isLoopError, type LoopResult, type OutsideResult, type StopRequest } from "../core/entry-kit.ts";
import { type ConversationLimits, Conversations } from "./conversations.ts";
import { type ExecutionEnd, executeRun } from "./execute-run.ts";
import { BusyError, planResume, planStart, readEnding, type RunPlan } from "./plan-run.ts";
import type {
  HostedRun,
  HostedStatus,
  HostedStream,
  JoinOptions,
  ResumeAnswer,
  ResumeOptions,
  RunHost,
  RunHostOptions,
  StartAnswer,
  StartOptions,
  WhenBusy,
} from "./run-host.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";
import type { RunTurn } from "./run-turn.ts";
import { checkId, joinChecks, readResume, readStart, type ReadStart } from "./start-options.ts";

export interface HostSettings extends ConversationLimits {
  readonly store: RunStore;
  readonly whenBusy: WhenBusy;
  readonly stopWhenUnread: boolean;
  readonly wrapOptions: RunHostOptions["wrapOptions"];
}

type Refused = Extract<ResumeAnswer, { readonly kind: "not-resumable" }>;

export class Host implements RunHost {
  readonly #settings: HostSettings;
  readonly #conversations: Conversations;

  constructor(settings: HostSettings) {
    this.#settings = settings;
    this.#conversations = new Conversations(settings);
  }

  async start(id: string, options: StartOptions): Promise<StartAnswer> {
    checkId(id);
    const given = readStart(options);
    const turn = await this.#enterOrSteer(id, given);
    if ("kind" in turn) return turn;
    turn.stopWhenUnread = given.stopWhenUnread ?? this.#settings.stopWhenUnread;
    const answer = await this.#run(id, turn, () => planStart(this.#settings.store, { id, turn, given }));
    if (answer.kind === "not-resumable") throw new Error("A start is always possible.");
    return answer;
  }

  async resume(id: string, options: ResumeOptions): Promise<ResumeAnswer> {
    checkId(id);
    const { loop, stopWhenUnread, whenBusy } = readResume(options);
    const entered = await this.#conversations.enter(id, whenBusy === "queue");
    if (entered.kind === "closed") return entered;
    const { turn } = entered;
    if (entered.kind === "busy") return { kind: "busy", runId: runIdOf(turn) };
    turn.stopWhenUnread = stopWhenUnread ?? this.#settings.stopWhenUnread;
    const takeLog = (number: number, epoch: string | undefined) => this.#conversations.takeLog(id, number, epoch);
    return this.#run(id, turn, () => planResume(this.#settings.store, { id, turn, loop, takeLog }));
  }

  join(id: string, options: JoinOptions = {}): HostedStream | undefined {
    checkId(id);
    checkFields("options", options, joinChecks);
    return this.#conversations.join(id, options);
  }

  stop(id: string, request?: StopRequest): "accepted" | "not-running" {
    checkId(id);
    const answer = this.#conversations.currentOf(id)?.control.stop(request);
    return answer === "accepted" ? "accepted" : "not-running";
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
    return { runId: `${id}/${runs}`, status, reason, isLive, queued: this.#conversations.waitingOf(id), messages };
  }

  close(): Promise<void> {
    return this.#conversations.close();
  }

  async #enterOrSteer(id: string, { whenBusy = this.#settings.whenBusy, message }: ReadStart): Promise<RunTurn | StartAnswer> {
    for (;;) {
      const entered = await this.#conversations.enter(id, whenBusy === "queue");
      if (entered.kind === "closed") return entered;
      const { turn } = entered;
      if (entered.kind === "entered") return turn;
      if (whenBusy !== "steer" || message === undefined) return { kind: "busy", runId: runIdOf(turn) };
      if (!(await turn.opened.promise)) continue;
      const { store } = this.#settings;
      if (await turn.steer(message, (record) => store.write(id, record))) return { kind: "steered", ...toHostedRun(turn) };
      await turn.settled.promise;
    }
  }

  /** Resolves when the run does something new. Rejects if the run is refused before it has done anything new. */
  async #run(id: string, turn: RunTurn, plan: () => Promise<RunPlan | Refused>): Promise<ResumeAnswer> {
    let planned: RunPlan | Refused;
    try {
      planned = await plan();
    } catch (error) {
      this.#conversations.leave(id, turn, turn.isJoinable);
      return toBusy(turn, error);
    }
    if ("kind" in planned) {
      this.#conversations.leave(id, turn, turn.isJoinable);
      return planned;
    }
    const running = executeRun(turn, { ...planned, wrapOptions: this.#settings.wrapOptions });
    turn.result = this.#finish(id, turn, { plan: planned, running });
    // Avoids an unhandled rejection if nobody awaits the result.
    turn.result.catch(() => {});
    const end = await Promise.race([turn.begun.promise, running]);
    await planned.release();
    if (end?.kind !== "broken") return { kind: "started", ...toHostedRun(turn) };
    await turn.settled.promise;
    return toBusy(turn, end.error);
  }

  async #finish(id: string, turn: RunTurn, { plan, running }: Finishing): Promise<LoopResult> {
    const end = await running;
    if (end.kind === "ended") {
      await this.#write(id, turn, toRecord(turn, end.result));
      this.#conversations.leave(id, turn, true);
      return end.result;
    }
    await turn.finishWrites();
    if (turn.isOpen && end.isRefused && plan.previous !== undefined) await this.#write(id, turn, plan.previous);
    this.#conversations.leave(id, turn, plan.isContinued || (turn.isOpen && !end.isRefused));
    throw end.error;
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

function toRecord({ number, log: { epoch }, record }: RunTurn, result: LoopResult): ConversationRecord {
  const { status, reason, messages, undelivered } = result;
  const steered = record?.steered;
  return { runs: number, status, reason, messages, epoch, undelivered, steered };
}

function runIdOf({ runId }: RunTurn): string | undefined {
  return runId === "" ? undefined : runId;
}

function toHostedRun(turn: RunTurn): HostedRun {
  const { runId, result = Promise.reject(new Error("The run has not begun.")) } = turn;
  return { runId, result, join: (options) => turn.read(options, true) };
}

function toBusy(turn: RunTurn, error: unknown): ResumeAnswer {
  const isElsewhere =
    error instanceof BusyError ||
    isLoopError(error, "journal-locked") ||
    (isLoopError(error, "already-running") && error.details.what !== "control");
  if (isElsewhere) return { kind: "busy", runId: runIdOf(turn) };
  throw error;
}
