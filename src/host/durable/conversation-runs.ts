import type { Json, Message } from "../../core/entry-kit.ts";
import type { JournalInspection } from "../../journal/index.ts";
import { endCalls } from "../../journal/inspect/end-calls.ts";
import type { History } from "../start-options.ts";
import type { DefinedLoop } from "./create-durable-loop.ts";
import type { DurableLoop } from "./durable-loop.ts";
import type { StoredEvent } from "./durable-records.ts";
import type { DurableEngine } from "./durable-store.ts";
import { checkConversation, type RunInput } from "./host-options.ts";
import { isWaiting } from "./read-durable-events.ts";

export interface LastRun {
  readonly number: number;
  readonly runId: string;
  /** Of a "deleted" run, only the number is known. */
  readonly state: "live" | "ended" | "failed" | "deleted";
  readonly error?: string | undefined;
}

export class ConversationRuns {
  readonly #name: string;
  readonly #loop: DurableLoop<Json>;
  readonly #engineOf: () => DurableEngine;

  constructor({ loop, engineOf }: DefinedLoop<Json>, name: string) {
    this.#name = name;
    this.#loop = loop;
    this.#engineOf = engineOf;
  }

  /**
   * The store counts the runs of a conversation under this key. The key contains the name of the host, because hosts with
   * different names have separate conversations.
   */
  keyOf(id: string): string {
    return JSON.stringify([this.#name, id]);
  }

  /**
   * The number from `readRuns` may be too low, because `noteRuns` may have failed. `findLast` therefore also tries higher
   * numbers.
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
   * If the `run-end` event of a run is stored, waits until the engine has stored the end of the run. A page that has read
   * `run-end` may send a new message before that time.
   */
  async #awaitEnd(run: LastRun): Promise<LastRun> {
    if (run.state !== "live") return run;
    const { store } = this.#engineOf();
    const [last] = await store.readEvents(run.runId, (await store.countEvents(run.runId)) - 1);
    const event = last && (JSON.parse(last.body) as StoredEvent).event;
    if (event?.type !== "run-end" || event.path !== undefined) return run;
    await this.#loop.result(run.runId);
    return { ...run, state: "ended" };
  }

  async isWaiting(runId: string): Promise<boolean> {
    const state = await this.#loop.status(runId);
    return state !== undefined && isWaiting(this.#engineOf(), runId, state);
  }

  /**
   * Resolves when a run has ended or is waiting for decisions. Ignores errors of the run, because `result` of the run reports
   * them.
   */
  async untilFree({ runId }: LastRun): Promise<void> {
    const from = await this.#engineOf().store.countEvents(runId);
    try {
      for await (const { event } of this.#loop.events(runId, { from, endsWhenWaiting: true })) {
        if (event.type === "run-end" && event.status === "suspended" && event.path === undefined) return;
      }
      await this.#loop.result(runId);
    } catch (error) {
      if ((await this.#engineOf().find(runId))?.state !== "failed") throw error;
    }
  }

  /** Stops a run if it only waits for decisions. Returns false if the run is working. */
  async stopWaiting({ runId }: LastRun): Promise<boolean> {
    if (!(await this.isWaiting(runId))) return false;
    await this.#loop.stop(runId, { note: "A new message was sent." });
    await this.#loop.result(runId);
    return true;
  }

  /** A run without records has only the messages of its input. */
  async messagesOf({ runId }: LastRun, { status, messages }: JournalInspection): Promise<readonly Message[]> {
    return status === "not-started" ? this.givenTo(runId) : messages;
  }

  async givenTo(runId: string): Promise<readonly Message[]> {
    const input = await this.#engineOf().readInput(runId);
    return input === undefined ? [] : ((JSON.parse(input) as RunInput).messages as unknown as readonly Message[]);
  }

  async readHistory(last: LastRun | undefined): Promise<{ readonly history: History; readonly isCut: boolean }> {
    if (last === undefined || last.state === "deleted") return { history: { messages: [] }, isCut: false };
    if (last.state !== "failed") return { history: await this.#loop.result(last.runId), isCut: false };
    return { history: { messages: await this.#readCutOff(last) }, isCut: true };
  }

  /**
   * Returns the state of a run. Returns undefined if a failed run has no readable state, for example because its `options`
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

  /** A failed run has no result, and its transcript may lack results of calls. */
  async #readCutOff(last: LastRun): Promise<readonly Message[]> {
    const found = await this.inspect(last);
    return found === undefined || found.status === "not-started" ? this.givenTo(last.runId) : endCalls(found);
  }
}
