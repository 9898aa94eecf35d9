import type { Json, Message, UserMessage } from "../../core/index.ts";
import type { JournalInspection } from "../../journal/index.ts";
import {
  addReport,
  type ConversationUsage,
  lateMessagesOf,
  leaveCutOff,
  leaveRun,
  type Left,
  noHandover,
  toReport,
  toUsage,
  withoutRefused,
} from "../../conversation/handover.ts";
import { isExpired, type KeepRuns, mayRemove } from "../../conversation/keep-runs.ts";
import { type History, isRepetition } from "../../conversation/next-messages.ts";
import { type DefinedLoop, readSteered } from "./create-durable-loop.ts";
import type { DurableLoop } from "./durable-loop.ts";
import type { StoredEvent } from "./durable-records.ts";
import type { DurableEngine } from "./durable-store.ts";
import type { RunFacts } from "./execute-durable-run.ts";
import { checkConversation, type RunInput } from "./host-options.ts";
import { isWaiting } from "./read-durable-events.ts";

export interface LastRun {
  readonly number: number;
  readonly runId: string;
  /** The run's state. If it is "deleted", only the run's number is known. */
  readonly state: "live" | "ended" | "failed" | "deleted";
  readonly error?: string | undefined;
}

/** How long the engine may take to store the end of a run after the `run-end` event, in milliseconds. */
const storedWithinMs = 5_000;

export class ConversationRuns {
  readonly #name: string;
  readonly #loop: DurableLoop<Json>;
  readonly #engineOf: () => DurableEngine;
  readonly #endsWithin: DefinedLoop<Json>["endsWithin"];

  constructor({ loop, engineOf, endsWithin }: DefinedLoop<Json>, name: string) {
    this.#name = name;
    this.#loop = loop;
    this.#engineOf = engineOf;
    this.#endsWithin = endsWithin;
  }

  /**
   * Returns the key under which the store counts a conversation's runs. It contains the host's name, because hosts with different names
   * have separate conversations.
   */
  keyOf(id: string): string {
    return JSON.stringify([this.#name, id]);
  }

  /**
   * Finds the last run of a conversation. The number from `readRuns` may be too low, because `noteRuns` may have failed, so higher numbers
   * are tried too.
   */
  async findLast(id: string): Promise<LastRun | undefined> {
    checkConversation(id);
    const engine = this.#engineOf();
    const noted = await engine.store.readRuns(this.keyOf(id));
    let last: LastRun | undefined;
    for (let number = Math.max(noted, 1); ; number += 1) {
      const runId = `${id}/${number}`;
      const found = await engine.find(runId);
      if (found !== undefined) last = { number, runId, ...found };
      else if (number === noted) last = { number, runId, state: "deleted" };
      else return last && this.#awaitEnd(last);
    }
  }

  /**
   * If a run's `run-end` event is stored, waits until the engine has also stored the run's end. A web page that has read `run-end` may send
   * a new message before then.
   */
  async #awaitEnd(run: LastRun): Promise<LastRun> {
    if (run.state !== "live") return run;
    const { store } = this.#engineOf();
    const [last] = await store.readEvents(run.runId, (await store.countEvents(run.runId)) - 1);
    const event = last && (JSON.parse(last.body) as StoredEvent).event;
    if (event?.type !== "run-end" || event.path !== undefined) return run;
    // If the run's worker died, the end is stored only after another worker has taken over, so the run still counts as live.
    if (!(await this.#endsWithin(run.runId, storedWithinMs))) return run;
    const found = await this.#engineOf().find(run.runId);
    return { number: run.number, runId: run.runId, ...(found ?? { state: "deleted" }) };
  }

  /** Resolves when a run has ended or is waiting for decisions. */
  async untilFree({ runId }: LastRun): Promise<void> {
    const from = await this.#engineOf().store.countEvents(runId);
    await this.#unlessFailed(runId, async () => {
      for await (const { event } of this.#loop.events(runId, { from, endsWhenWaiting: true })) {
        if (event.type === "run-end" && event.status === "suspended" && event.path === undefined) return;
      }
      await this.#loop.result(runId);
    });
  }

  /** Returns a run's state if it is only waiting for decisions or results. Returns undefined if it is working. */
  async findWaiting({ runId }: LastRun): Promise<JournalInspection | undefined> {
    const state = await this.#loop.status(runId);
    return state !== undefined && (await isWaiting(this.#engineOf(), runId, state)) ? state : undefined;
  }

  /** Stops a waiting run, because a new message was sent. Returns false if the run does not end soon, because it has no worker. */
  async stopWaiting(run: LastRun): Promise<boolean> {
    await this.#loop.stop(run.runId, { note: "A new message was sent." });
    return this.endsSoon(run);
  }

  /** Waits until a run that is being stopped has ended. Returns false if the run does not end soon. */
  endsSoon({ runId }: LastRun): Promise<boolean> {
    return this.#endsWithin(runId, this.#engineOf().answerMs);
  }

  /** Resolves when a run has ended. This may take days if the run is waiting for decisions. */
  async untilEnded({ runId }: LastRun): Promise<void> {
    await this.#unlessFailed(runId, () => this.#loop.result(runId));
  }

  /** Calls `work`, and ignores a failed run's error, because the run's `result` reports it. */
  async #unlessFailed(runId: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if ((await this.#engineOf().find(runId))?.state !== "failed") throw error;
    }
  }

  /** True if a stop or kill request was sent to the run. */
  async isStopping({ runId }: LastRun): Promise<boolean> {
    const messages = await this.#engineOf().store.readMessages(runId, 0);
    return messages.some(({ body }) => body.verb === "stop" || body.verb === "kill");
  }

  /** True if the live run answers this message, or received it as a steering message. */
  async isRepeated({ runId }: LastRun, message: UserMessage): Promise<boolean> {
    if (message.id === undefined) return false;
    const { own = 0, messages } = await this.#readInput(runId);
    const steered = await readSteered(this.#engineOf().store, runId);
    return [...messages.slice(own), ...steered].some((one) => one.role === "user" && isRepetition(one, message));
  }

  /**
   * Returns a run's transcript, without messages that an input check refused. A run without records has only the messages from its input.
   */
  async messagesOf({ runId }: LastRun, state: JournalInspection): Promise<readonly Message[]> {
    const { own = 0, messages } = await this.#readInput(runId);
    return state.status === "not-started" ? messages : withoutRefused(state, own);
  }

  async givenTo(runId: string): Promise<readonly Message[]> {
    return (await this.#readInput(runId)).messages;
  }

  async #readInput(runId: string): Promise<ReadInput> {
    const input = await this.#engineOf().readInput(runId);
    if (input === undefined) return { messages: [] };
    const { messages, own, handover } = JSON.parse(input) as RunInput;
    return { messages: messages as unknown as readonly Message[], own, handover };
  }

  async readHistory(last: LastRun | undefined): Promise<{ readonly history: History; readonly isCut: boolean }> {
    if (last === undefined || last.state === "deleted") return { history: { messages: [], handover: noHandover }, isCut: false };
    const { runId } = last;
    const { messages, own = 0, handover = noHandover } = await this.#readInput(runId);
    if (last.state !== "failed") {
      const result = await this.#loop.result(runId);
      const { status, reason } = result;
      const undelivered = lateMessagesOf(result);
      const history = toHistory(leaveRun(result, { own, handover }), { runId, status, reason, own });
      return { history: { ...history, undelivered }, isCut: false };
    }
    const found = await this.inspect(last);
    const left = found === undefined ? { messages, handover, report: {} } : leaveCutOff(found, { messages, own, handover });
    return { history: toHistory(left, { runId, status: "running", own }), isCut: true };
  }

  /** Removes ended runs that `keepRuns` does not keep. `runs` is the number of the last run that has ended. */
  async prune(id: string, runs: number, keepRuns: KeepRuns): Promise<void> {
    if (keepRuns === Number.POSITIVE_INFINITY) return;
    const { find, remove } = this.#engineOf();
    const due: string[] = [];
    for (let number = typeof keepRuns === "number" ? runs - keepRuns : runs - 1; number >= 1; number -= 1) {
      const runId = `${id}/${number}`;
      const found = await find(runId);
      // Stops at a missing run, because if one run is missing, all older runs have been removed too.
      if (found === undefined) break;
      const end = found.state === "ended" ? await found.readEnd() : undefined;
      if (end === undefined) continue;
      const { endedAt, isPriced, ...result } = JSON.parse(end) as RunFacts;
      const age = { runs, keepRuns, now: Date.now() };
      if (mayRemove({ result, isPriced }) && isExpired({ number, endedAt }, age)) due.push(runId);
    }
    if (due.length > 0) await remove(due);
  }

  /** Returns the usage and the cost of a conversation. `state` is the state of its last run. */
  async usageOf({ number, runId }: LastRun, state: JournalInspection | undefined): Promise<ConversationUsage> {
    const { handover = noHandover } = await this.#readInput(runId);
    return toUsage(state === undefined ? handover : addReport(handover, toReport(state)), number);
  }

  /**
   * Returns a run's state. Returns undefined if a failed run has no readable state, for example because its `options`
   * function throws.
   */
  async inspect({ runId, state }: LastRun): Promise<JournalInspection | undefined> {
    try {
      return await this.#loop.status(runId);
    } catch (error) {
      if (state !== "failed") throw error;
      return undefined;
    }
  }
}

function toHistory({ messages, handover, report }: Left, last: History["last"]): History {
  return { messages, handover: addReport(handover, report), last };
}

interface ReadInput extends Pick<RunInput, "own" | "handover"> {
  readonly messages: readonly Message[];
}
