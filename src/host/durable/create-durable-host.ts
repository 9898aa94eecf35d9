import {
  type CallDecision,
  checkFields,
  type Checks,
  invalidOption,
  is,
  isRecord,
  type Json,
  type StopRequest,
} from "../../core/entry-kit.ts";
import type { HostedStream, WhenBusy } from "../run-host.ts";
import { joinChecks, toMessages } from "../start-options.ts";
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
  return new Conversations(loop, fields);
}

interface NextStart {
  readonly given: DurableStart;
  readonly input: Json | undefined;
}

const durableJoinChecks: Checks<DurableJoinOptions> = { ...joinChecks, endsWhenWaiting: is.flag };

class Conversations implements DurableHost {
  readonly #loop: DurableLoop<Json>;
  readonly #engineOf: () => DurableEngine;
  readonly #whenBusy: WhenBusy;
  readonly #runs: ConversationRuns;

  constructor({ loop, engineOf }: DefinedLoop<Json>, { name, whenBusy = "refuse" }: DurableHostFields) {
    this.#loop = loop;
    this.#engineOf = engineOf;
    this.#runs = new ConversationRuns({ loop, engineOf }, name);
    this.#whenBusy = whenBusy;
  }

  async start(id: string, options: DurableStartOptions): Promise<DurableStartAnswer> {
    const given = readDurableStart(options);
    for (;;) {
      const last = await this.#runs.findLast(id);
      const isBusy = last?.state === "live" && !(await this.#runs.stopWaiting(last));
      const answer = isBusy ? await this.#enter(last, given) : await this.#startNext(id, last, { given, input: options.input });
      if (answer !== undefined) return answer;
    }
  }

  /** Returns undefined when the conversation is free. */
  async #enter(last: LastRun, { whenBusy = this.#whenBusy, message }: DurableStart): Promise<DurableStartAnswer | undefined> {
    if (whenBusy === "steer" && message !== undefined) {
      if ((await this.#loop.steer(last.runId, message)) === "accepted") return { kind: "steered", ...this.#toHosted(last) };
    } else if (whenBusy !== "queue") return { kind: "busy", runId: last.runId };
    await this.#runs.untilFree(last);
    return undefined;
  }

  /** Returns undefined if another call of `start` has already started the run with this number. */
  async #startNext(
    id: string,
    last: LastRun | undefined,
    { given, input = null }: NextStart,
  ): Promise<DurableStartAnswer | undefined> {
    const number = (last?.number ?? 0) + 1;
    const next: LastRun = { number, runId: `${id}/${number}`, state: "live" };
    const run: RunInput = { id, input, ...(await this.#toInput(last, given)) };
    const { store, find, start } = this.#engineOf();
    if (!(await start(next.runId, JSON.stringify(run)))) {
      if ((await find(next.runId)) !== undefined) return undefined;
      throw invalidOption("id", `an id whose run "${next.runId}" does not belong to another loop`, id);
    }
    // `findLast` finds the run even if this call fails.
    await store.noteRuns(this.#runs.keyOf(id), number).catch(() => {});
    return { kind: "started", ...this.#toHosted(next) };
  }

  async resume(
    id: string,
    { decisions }: { readonly decisions?: { readonly [callId: string]: CallDecision } } = {},
  ): Promise<DurableResumeAnswer> {
    if (!isRecord(decisions)) throw invalidOption("decisions", "an object with a decision for each call", decisions);
    const last = await this.#runs.findLast(id);
    if (last?.state !== "live") return this.#refuse(last);
    const { store } = this.#engineOf();
    const count = await store.countEvents(last.runId);
    for (const [callId, decision] of Object.entries(decisions)) await this.#loop.decide(last.runId, callId, decision);
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
    const isOver = hasRead && (last.state !== "live" || (endsWhenWaiting && (await this.#runs.isWaiting(runId))));
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
    const facts = { runId, isLive, messages, pendingCalls, version, lastVersion };
    if (state === "failed") return { ...facts, status: "error", reason: undefined, error };
    return { ...facts, status: found.status === "not-started" ? "running" : found.status, reason };
  }

  async #toUnreadable({ runId, error }: LastRun): Promise<DurableHostStatus> {
    const messages = await this.#runs.givenTo(runId);
    const facts = { pendingCalls: [], version: undefined, lastVersion: undefined };
    return { ...facts, runId, status: "error", reason: undefined, error, isLive: false, messages };
  }

  async #toInput(last: LastRun | undefined, given: DurableStart): Promise<Pick<RunInput, "messages" | "repair">> {
    if (given.messages !== undefined) return { messages: given.messages as unknown as Json, repair: false };
    const { history, isCut } = await this.#runs.readHistory(last);
    return { messages: toMessages(history, given) as unknown as Json, repair: isCut };
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
