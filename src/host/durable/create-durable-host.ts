import { type CallDecision, checkFields, invalidOption, type Json, type StopRequest } from "../../core/entry-kit.ts";
import type { HostedStream, JoinOptions } from "../hosted-event.ts";
import type { WhenBusy } from "../run-host.ts";
import { checkId, type History, joinChecks, type ReadStart, toMessages } from "../start-options.ts";
import type {
  DurableHost,
  DurableHostedRun,
  DurableHostFields,
  DurableHostStatus,
  DurableResumeAnswer,
  DurableStartAnswer,
  DurableStartOptions,
} from "./durable-host.ts";
import type { DurableLoop } from "./durable-loop.ts";
import type { StoredEvent } from "./durable-records.ts";
import type { DurableEngine } from "./durable-store.ts";
import { readDurableStart, type RunInput } from "./host-options.ts";
import { readPlace, toHostedStream, toSeq } from "./hosted-events.ts";
import { isWaiting } from "./read-durable-events.ts";

/** The loop under a durable host, and its engine, which throws if no worker runs in this process. */
export interface HostLoop {
  readonly loop: DurableLoop<Json>;
  readonly engineOf: () => DurableEngine;
}

export function createDurableHost({ whenBusy = "refuse" }: DurableHostFields, { loop, engineOf }: HostLoop): DurableHost {
  return new Conversations(loop, engineOf, whenBusy);
}

/** The last run of a conversation. */
interface LastRun {
  readonly number: number;
  readonly runId: string;
  readonly state: "live" | "ended" | "failed";
}

interface NextStart {
  readonly given: ReadStart;
  readonly input: Json | undefined;
}

class Conversations implements DurableHost {
  readonly #loop: DurableLoop<Json>;
  readonly #engineOf: () => DurableEngine;
  readonly #whenBusy: WhenBusy;

  constructor(loop: DurableLoop<Json>, engineOf: () => DurableEngine, whenBusy: WhenBusy) {
    this.#loop = loop;
    this.#engineOf = engineOf;
    this.#whenBusy = whenBusy;
  }

  async start(id: string, options: DurableStartOptions): Promise<DurableStartAnswer> {
    checkId(id);
    const given = readDurableStart(options);
    for (;;) {
      const last = await this.#findLast(id);
      const isBusy = last?.state === "live" && !(await this.#stopWaiting(last));
      const answer = isBusy ? await this.#enter(last, given) : await this.#startNext(id, last, { given, input: options.input });
      if (answer !== undefined) return answer;
    }
  }

  /** Steers a live run, or refuses the start. Returns undefined when the conversation is free. */
  async #enter(last: LastRun, { whenBusy = this.#whenBusy, message }: ReadStart): Promise<DurableStartAnswer | undefined> {
    if (whenBusy === "steer" && message !== undefined) {
      if ((await this.#loop.steer(last.runId, message)) === "accepted") return { kind: "steered", ...this.#toHosted(last) };
    } else if (whenBusy !== "queue") return { kind: "busy", runId: last.runId };
    await this.#untilFree(last);
    return undefined;
  }

  /** Starts the run after the last one. Returns undefined if another start was first. */
  async #startNext(
    id: string,
    last: LastRun | undefined,
    { given, input = null }: NextStart,
  ): Promise<DurableStartAnswer | undefined> {
    const number = (last?.number ?? 0) + 1;
    const next: LastRun = { number, runId: `${id}/${number}`, state: "live" };
    const run: RunInput = { id, input, ...(await this.#toInput(last, given)) };
    const { store, find } = this.#engineOf();
    if ((await this.#loop.start(next.runId, run as unknown as Json)) === "exists") {
      if ((await find(next.runId)) !== undefined) return undefined;
      throw invalidOption("id", `a text so that no other loop has a run "${next.runId}"`, id);
    }
    await store.noteRuns(id, number);
    return { kind: "started", ...this.#toHosted(next) };
  }

  async resume(
    id: string,
    { decisions }: { readonly decisions: { readonly [callId: string]: CallDecision } },
  ): Promise<DurableResumeAnswer> {
    checkId(id);
    const last = await this.#findLast(id);
    const state = last && (await this.#loop.status(last.runId));
    if (last?.state !== "live") {
      const status = state?.status;
      return { kind: "not-resumable", status: status === "not-started" || status === "running" ? undefined : status };
    }
    const { store } = this.#engineOf();
    const count = await store.countEvents(last.runId);
    for (const [callId, decision] of Object.entries(decisions)) await this.#loop.decide(last.runId, callId, decision);
    return { kind: "started", ...this.#toHosted(last, count) };
  }

  async join(id: string, options: JoinOptions = {}): Promise<HostedStream | undefined> {
    checkId(id);
    checkFields("options", options, joinChecks);
    const last = await this.#findLast(id);
    if (last === undefined) return undefined;
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
    const isOver = hasRead && (last.state !== "live" || (await this.#isWaiting(runId)));
    return this.#toStream(last, options, { isOver });
  }

  async stop(id: string, request?: StopRequest): Promise<"accepted" | "not-running"> {
    checkId(id);
    const last = await this.#findLast(id);
    if (last?.state !== "live") return "not-running";
    return (await this.#loop.stop(last.runId, request)) === "accepted" ? "accepted" : "not-running";
  }

  async status(id: string): Promise<DurableHostStatus | undefined> {
    checkId(id);
    const last = await this.#findLast(id);
    const found = last && (await this.#loop.status(last.runId));
    if (last === undefined || found === undefined) return undefined;
    const { status, reason, initialMessages, messages } = found;
    const isRunning = status === "not-started" || status === "running";
    return {
      runId: last.runId,
      status: isRunning ? "running" : status,
      reason,
      isLive: last.state === "live",
      messages: isRunning && last.state === "live" ? initialMessages : messages,
    };
  }

  /** Returns the last run of a conversation. Its number may not be noted yet, so the numbers after it are tried. */
  async #findLast(id: string): Promise<LastRun | undefined> {
    const engine = this.#engineOf();
    let last: LastRun | undefined;
    for (let number = Math.max(await engine.store.readRuns(id), 1); ; number += 1) {
      const runId = `${id}/${number}`;
      const found = await engine.find(runId);
      if (found === undefined) return last && this.#settle(last);
      last = { number, runId, state: found.state };
    }
  }

  /** Waits for the end of a run that has sent its last event. A page may send its next message immediately after this event. */
  async #settle(run: LastRun): Promise<LastRun> {
    if (run.state !== "live") return run;
    const { store } = this.#engineOf();
    const [last] = await store.readEvents(run.runId, (await store.countEvents(run.runId)) - 1);
    const event = last && (JSON.parse(last.body) as StoredEvent).event;
    if (event?.type !== "run-end" || event.path !== undefined) return run;
    await this.#loop.result(run.runId);
    return { ...run, state: "ended" };
  }

  async #isWaiting(runId: string): Promise<boolean> {
    const state = await this.#loop.status(runId);
    return state !== undefined && isWaiting(this.#engineOf(), runId, state);
  }

  /** Waits until a run has ended, or only waits for decisions. Errors of the run are reported by its own `result`. */
  async #untilFree({ runId }: LastRun): Promise<void> {
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

  /** Stops a run that only waits for decisions. Returns false if the run is working. */
  async #stopWaiting({ runId }: LastRun): Promise<boolean> {
    if (!(await this.#isWaiting(runId))) return false;
    await this.#loop.stop(runId, { note: "A new message was sent." });
    await this.#loop.result(runId);
    return true;
  }

  async #toInput(last: LastRun | undefined, given: ReadStart): Promise<Pick<RunInput, "messages" | "repair">> {
    const { history, isCut } = await this.#readHistory(last);
    return { messages: toMessages(history, given) as unknown as Json, repair: isCut && given.messages === undefined };
  }

  async #readHistory(last: LastRun | undefined): Promise<{ readonly history: History; readonly isCut: boolean }> {
    if (last === undefined) return { history: { messages: [] }, isCut: false };
    // A failed run has no result, and its transcript may end within its calls.
    if (last.state === "failed")
      return { history: { messages: (await this.#loop.status(last.runId))?.messages ?? [] }, isCut: true };
    return { history: await this.#loop.result(last.runId), isCut: false };
  }

  #toHosted(run: LastRun, replayedBefore = 0): DurableHostedRun {
    return {
      runId: run.runId,
      result: () => this.#loop.result(run.runId),
      join: (options = {}) => {
        checkFields("options", options, joinChecks);
        return this.#toStream(run, options, { replayedBefore });
      },
    };
  }

  #toStream(
    { number, runId }: LastRun,
    { from, signal }: JoinOptions,
    { isOver = false, replayedBefore = 0 }: { readonly isOver?: boolean; readonly replayedBefore?: number } = {},
  ): HostedStream {
    const isKnown = readPlace(from)?.number === number;
    const events = this.#loop.events(runId, { from: toSeq(from, number), signal, endsWhenWaiting: true });
    return toHostedStream(events, { runId, isOver, restarted: from !== undefined && !isKnown, number, replayedBefore });
  }
}
