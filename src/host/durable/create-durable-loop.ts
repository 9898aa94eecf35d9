import { type Json, LoopError, type LoopOptions, type UserMessage } from "../../core/index.ts";
import { checkFields, type Checks, invalidOption, is, needed, refuseLoopOptions } from "../../core/kit.ts";
import type { StopRequest } from "../../core/types/loop-options.ts";
import { checkMessages } from "../../shared/transcript.ts";
import { isFilled } from "../../shared/errors/check-fields.ts";
import type { JournalInspection } from "../../journal/index.ts";
import { readJournalRun, toInspection } from "../../journal/inspect/inspect-journal.ts";
import type { DurableEvent, DurableEventsOptions, DurableLoop, DurableLoopFields, DurableResult } from "./durable-loop.ts";
import type { DurableEngine, DurableStore, FoundRun, RunMessage } from "./durable-store.ts";
import type { RunFacts } from "./execute-durable-run.ts";
import { readLargeParts } from "./durable-records.ts";
import { readDurableEvents } from "./read-durable-events.ts";
import { toDecided, unknownDecision } from "./check-decisions.ts";
import { answerWithin } from "../../shared/repeat-failed.ts";
import { isExactData } from "../../shared/to-outcome.ts";
import { toUserMessage } from "../../conversation/new-message.ts";
import { signalCheck } from "../start-options.ts";

const eventsChecks: Checks<DurableEventsOptions> = {
  from: ["a whole number of at least 0", (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  signal: signalCheck,
  endsWhenWaiting: is.flag,
};

const fieldChecks: Checks<DurableLoopFields<never>> = {
  name: /* @__PURE__ */ needed(is.text),
  options: /* @__PURE__ */ needed(is.fn),
  wrapOptions: is.fn,
  maxCrashes: { min: 0 },
};

/** Returns the advice for a run option that was passed next to the `options` function instead of inside its result. */
export function toReturned(name: string): string {
  return `options: () => ({ ${name} }), because "options" returns those of each run`;
}

export function checkLoopFields<Input>(fields: DurableLoopFields<Input>): void {
  refuseLoopOptions(fields, fieldChecks, toReturned);
  checkFields("options", fields, fieldChecks);
}

/** The maximum length of a run id. Ids must be short, because notifications and logs contain them. */
const maxIdLength = 512;

export function checkRunId(id: string, longest: number = maxIdLength): void {
  const isFit = isFilled(id) && id.length <= longest && !/[\0\p{Surrogate}]/u.test(id);
  if (!isFit) throw invalidOption("id", `a string of 1 to ${longest} characters without NUL characters or lone surrogates`, id);
}

export interface DefinedLoop<Input> {
  readonly loop: DurableLoop<Input>;
  /** Sends decisions about several calls. If one of them is invalid, sends none and rejects. */
  readonly decideAll: (id: string, decisions: NonNullable<LoopOptions["answers"]>) => Promise<void>;
  /** Waits until a run has ended, for at most `ms` milliseconds. Returns false if the run is still live. */
  readonly endsWithin: (id: string, ms: number) => Promise<boolean>;
  /** Waits for `work` for at most `answerMs`. `what` names the called method in the error. */
  readonly bounded: <T>(what: string, work: () => Promise<T>) => Promise<T>;
  /** Returns the engine. Throws if no worker is running in this process. */
  readonly engineOf: () => DurableEngine;
}

export function createDurableLoop<Input>(
  { name, options }: DurableLoopFields<Input>,
  engineOf: () => DurableEngine,
): DefinedLoop<Input> {
  const verbs = new DurableVerbs(name, (input) => options(JSON.parse(input) as Input), engineOf);
  const bounded: DefinedLoop<Input>["bounded"] = (what, work) => answerWithin(work, what, engineOf().answerMs);
  const decideAll: DefinedLoop<Input>["decideAll"] = (id, decisions) => bounded("decide", () => verbs.decide(id, decisions));
  const loop: DurableLoop<Input> = {
    start: async (id, input) => bounded("start", () => verbs.start(id, input)),
    result: (id) => verbs.result(id),
    retry: async (id) => bounded("retry", () => verbs.retry(id)),
    status: async (id) => bounded("status", () => verbs.status(id)),
    stop: async (id, request) => bounded("stop", () => verbs.stop(id, request)),
    kill: async (id) => bounded("kill", () => verbs.send(id, { verb: "kill" })),
    steer: async (id, message) => bounded("steer", () => verbs.steer(id, message)),
    decide: async (id, callId, decision) => decideAll(id, { [callId]: decision }),
    events: (id, how) => verbs.events(id, how),
  };
  return { loop, engineOf, bounded, decideAll, endsWithin: (id, ms) => verbs.endsWithin(id, ms) };
}

type OptionsOf = (input: string) => ReturnType<DurableLoopFields<Json>["options"]>;

interface OpenedRun {
  readonly options: Awaited<ReturnType<OptionsOf>>;
  /** The run as far as it is recorded. Undefined if it has no records yet. */
  readonly run: Awaited<ReturnType<typeof readJournalRun>>;
  readonly inspection: JournalInspection;
}

class DurableVerbs {
  readonly #name: string;
  readonly #optionsOf: OptionsOf;
  readonly #engineOf: () => DurableEngine;

  constructor(name: string, optionsOf: OptionsOf, engineOf: () => DurableEngine) {
    this.#name = name;
    this.#optionsOf = optionsOf;
    this.#engineOf = engineOf;
  }

  async start(id: string, input: unknown): Promise<"started" | "exists"> {
    checkRunId(id);
    return (await this.#engineOf().start(id, toInputText(input))) ? "started" : "exists";
  }

  async result(id: string): Promise<DurableResult> {
    const engine = this.#engineOf();
    const end = await engine.waitForEnd(id, async () => {
      const found = await this.#find(id, engine);
      if (found.state === "failed") throw new Error(found.error, { cause: found.cause });
      return found.state === "ended" ? found.readEnd() : undefined;
    });
    const { lastRead, isPriced: _, endedAt: _endedAt, ...facts } = JSON.parse(end) as RunFacts;
    const opened = await this.#open(id);
    // A run that has ended but has no events was deleted in the meantime, so it is refused.
    if (opened === undefined || (await engine.store.countEvents(id)) === 0) return this.#refuseId();
    // Reads messages that arrived after the run last checked for messages.
    const late = await readSteered(engine.store, id, lastRead);
    const { result } = opened.run ?? {};
    if (result === undefined) return this.#refuseId();
    const { journal: _journal, ...rebuilt } = result;
    const { responseText = facts.text } = facts;
    return { ...rebuilt, ...facts, responseText, undelivered: [...facts.undelivered, ...late] };
  }

  async endsWithin(id: string, ms: number): Promise<boolean> {
    const engine = this.#engineOf();
    const over = AbortSignal.timeout(ms);
    const look = async (): Promise<true | undefined> => ((await this.#find(id, engine)).state === "live" ? undefined : true);
    try {
      return await engine.waitForEnd(id, look, over);
    } catch (error) {
      if (over.aborted) return false;
      throw error;
    }
  }

  async retry(id: string): Promise<void> {
    const engine = this.#engineOf();
    if ((await this.#find(id)).state === "failed") {
      await engine.store.resetStalls(id);
      if (await engine.retry(id)) return;
    }
    const { state } = await this.#find(id);
    const received = state === "ended" ? "the id of a run with a result" : "the id of a live run";
    throw new LoopError("invalid-option", { option: "id", expected: "the id of a failed run", received });
  }

  async status(id: string): Promise<JournalInspection | undefined> {
    return this.#inspect(id);
  }

  async #inspect(id: string, engine = this.#engineOf()): Promise<JournalInspection | undefined> {
    return (await this.#open(id, engine))?.inspection;
  }

  async #open(id: string, engine = this.#engineOf()): Promise<OpenedRun | undefined> {
    checkRunId(id);
    const input = await engine.readInput(id);
    if (input === undefined) return undefined;
    const options = await this.#optionsOf(input);
    const { messages } = checkMessages(options.messages);
    const journal = readLargeParts(engine.store, { runId: id, messages });
    const run = await readJournalRun(journal);
    return { options, run, inspection: toInspection(run) };
  }

  async #find(id: string, engine = this.#engineOf()): Promise<FoundRun> {
    checkRunId(id);
    return (await engine.find(id)) ?? this.#refuseId();
  }

  #refuseId(): never {
    const expected = `the id of a run of the loop "${this.#name}"`;
    throw new LoopError("invalid-option", { option: "id", expected, received: "an unknown id" });
  }

  async send(id: string, message: RunMessage): Promise<"accepted" | "finished"> {
    if ((await this.#find(id)).state !== "live") return "finished";
    await this.#engineOf().store.send(id, message);
    return "accepted";
  }

  async stop(id: string, request?: StopRequest): Promise<"accepted" | "finished"> {
    checkFields("request", request ?? {}, { requester: is.text, note: is.text });
    return this.send(id, { verb: "stop", request });
  }

  async steer(id: string, message: string | UserMessage): Promise<"accepted" | "finished"> {
    return this.send(id, { verb: "steer", message: toUserMessage(message) });
  }

  /** Sends decisions to their calls. If one of them is invalid, sends none. */
  async decide(id: string, decisions: NonNullable<LoopOptions["answers"]>): Promise<void> {
    const opened = (await this.#open(id)) ?? this.#refuseId();
    const isLive = (await this.#find(id)).state === "live";
    const messages: RunMessage[] = [];
    for (const [callId, decision] of Object.entries(decisions)) {
      const { inspection, options } = opened;
      const message = await toDecided({ ...inspection, tools: options.tools }, callId, decision);
      // A run that has ended accepts no decisions, even though its records may contain waiting calls.
      if (message === undefined || !isLive) throw unknownDecision(isLive ? opened.inspection : undefined, callId);
      messages.push(message);
    }
    if (messages.length > 0) await this.#engineOf().store.send(id, ...messages);
  }

  events(id: string, options: DurableEventsOptions = {}): AsyncIterableIterator<DurableEvent> {
    checkFields("options", options, eventsChecks);
    const engine = this.#engineOf();
    return readDurableEvents(options, {
      engine,
      id,
      find: () => this.#find(id, engine),
      refuse: () => this.#refuseId(),
      inspect: () => this.#inspect(id, engine),
    });
  }
}

/** Reads a run's steering messages with positions after `after`. */
export async function readSteered(store: DurableStore, id: string, after: number = 0): Promise<readonly UserMessage[]> {
  return (await store.readMessages(id, after)).flatMap(({ body }) => (body.verb === "steer" ? [body.message] : []));
}

export function toInputText(input: unknown): string {
  if (isExactData(input)) return JSON.stringify(input);
  throw invalidOption("input", "plain data that JSON can represent", input);
}
