import {
  type CallDecision,
  checkFields,
  checkRequired,
  copyUserMessage,
  type Checks,
  describeValue,
  invalidOption,
  is,
  isApproval,
  isFilled,
  isOutsideResult,
  isPlainData,
  type Json,
  LoopError,
  type LoopEvent,
  type LoopOptions,
  type StopRequest,
  toJson,
  type UserMessage,
} from "../../core/entry-kit.ts";
import type { PendingCall } from "../../journal/inspect/records.ts";
import { inspectJournal, type JournalInspection } from "../../journal/index.ts";
import type {
  DurableEvent,
  DurableEventsOptions,
  DurableLoop,
  DurableLoopFields,
  DurableOwnOptions,
  DurableResult,
} from "./durable-loop.ts";
import type { DurableEngine, FoundRun, Row, RunMessage } from "./durable-store.ts";
import type { RunFacts } from "./execute-durable-run.ts";

const fieldChecks: Checks<DurableLoopFields<never>> = { name: is.text, options: is.fn };

/** Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid. */
export function checkLoopFields<Input>(fields: DurableLoopFields<Input>): void {
  checkFields("fields", fields, fieldChecks);
  checkRequired(fields, fieldChecks, ["name", "options"]);
}

/** The longest run id. Notifications and logs contain it. */
const longestId = 512;

function checkRunId(id: string): void {
  const isFit = isFilled(id) && id.length <= longestId && !/[\0\p{Surrogate}]/u.test(id);
  if (!isFit) throw invalidOption("id", `a text of 1 to ${longestId} characters, without NUL and lone surrogates`, id);
}

/** Makes the verbs of a durable loop. `engineOf` returns its engine, or throws if no worker runs in this process. */
export function createDurableLoop<Input extends Json>(
  { name, options }: DurableLoopFields<Input>,
  engineOf: () => DurableEngine,
): DurableLoop<Input> {
  const verbs = new DurableVerbs(name, (input) => options(JSON.parse(input) as Input), engineOf);
  return {
    start: (id, input) => verbs.start(id, input),
    result: (id) => verbs.result(id),
    retry: (id) => verbs.retry(id),
    status: (id) => verbs.status(id),
    stop: (id, request) => verbs.stop(id, request),
    kill: (id) => verbs.send(id, { verb: "kill" }),
    steer: (id, message) => verbs.steer(id, message),
    decide: (id, callId, decision) => verbs.decide(id, callId, decision),
    events: (id, how) => verbs.events(id, how),
  };
}

type OptionsOf = (input: string) => ReturnType<DurableLoopFields<Json>["options"]> | Omit<LoopOptions, DurableOwnOptions>;

class DurableVerbs {
  readonly #name: string;
  readonly #optionsOf: OptionsOf;
  readonly #engineOf: () => DurableEngine;

  constructor(name: string, optionsOf: OptionsOf, engineOf: () => DurableEngine) {
    this.#name = name;
    this.#optionsOf = optionsOf;
    this.#engineOf = engineOf;
  }

  async start(id: string, input: Json): Promise<"started" | "exists"> {
    checkRunId(id);
    if (!isPlainData(input)) throw invalidOption("input", "plain data that JSON can represent", input);
    return (await this.#engineOf().start(id, JSON.stringify(input))) ? "started" : "exists";
  }

  async result(id: string): Promise<DurableResult> {
    const engine = this.#engineOf();
    await this.#find(id);
    const { lastRead, ...facts } = JSON.parse(await engine.result(id)) as RunFacts;
    const { messages = [] } = (await this.status(id)) ?? {};
    // Messages that came after the run had read its inbox for the last time.
    const late = (await engine.store.readMessages(id, lastRead)).flatMap(({ body }) =>
      body.verb === "steer" ? [body.message] : [],
    );
    return { ...facts, messages, undelivered: [...facts.undelivered, ...late.map(toUserMessage)] };
  }

  async retry(id: string): Promise<void> {
    const { state } = await this.#find(id);
    const received = state === "live" ? "the id of a live run" : "the id of a run with a result";
    if (state !== "failed")
      throw new LoopError("invalid-option", { option: "id", expected: "the id of a run whose result rejected", received });
    await this.#engineOf().retry(id);
  }

  async status(id: string): Promise<JournalInspection | undefined> {
    const engine = this.#engineOf();
    const input = await engine.readInput(id);
    if (input === undefined) return undefined;
    const { messages } = await this.#optionsOf(input);
    return inspectJournal(engine.readJournal(id, messages));
  }

  async #find(id: string, engine = this.#engineOf()): Promise<FoundRun> {
    const found = await engine.find(id);
    if (found !== undefined) return found;
    const expected = `the id of a run of the loop "${this.#name}"`;
    throw new LoopError("invalid-option", { option: "id", expected, received: "another text" });
  }

  /** Sends a message to a live run. */
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
    const isFit = typeof message === "string" ? message.trim() !== "" : copyUserMessage(message) !== undefined;
    if (!isFit) throw invalidOption("message", "a text that is not blank, or a user message", message);
    return this.send(id, { verb: "steer", message });
  }

  async decide(id: string, callId: string, decision: CallDecision): Promise<void> {
    await this.#find(id);
    const { pendingCalls = [] } = (await this.status(id)) ?? {};
    const call = pendingCalls.find((one) => one.id === callId);
    if (call === undefined || !("waitKey" in call)) {
      const waiting = pendingCalls.filter((one) => "waitKey" in one).map((one) => one.id);
      throw new LoopError("unknown-decision", { call: callId, ...(waiting.length === 0 ? {} : { waiting }) });
    }
    checkDecision(call, decision);
    await this.#engineOf().store.send(id, { verb: "decide", key: call.waitKey, decision: toJson(decision) });
  }

  events(id: string, { from = 0, signal }: DurableEventsOptions = {}): AsyncIterableIterator<DurableEvent> {
    if (!Number.isSafeInteger(from) || from < 0) throw invalidOption("from", "a whole number of at least 0", from);
    const left = new AbortController();
    const leave = (): void => left.abort();
    if (signal?.aborted === true) leave();
    signal?.addEventListener("abort", leave);
    const events = this.#read(id, from, left.signal);
    const close = (): void => {
      leave();
      signal?.removeEventListener("abort", leave);
    };
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        const item = await events.next();
        if (item.done === true) close();
        return item;
      },
      async return() {
        // A generator cannot be ended while it waits, so the signal ends its wait first.
        close();
        return events.return(undefined);
      },
    };
  }

  async *#read(id: string, from: number, signal: AbortSignal): AsyncGenerator<DurableEvent, undefined> {
    const engine = this.#engineOf();
    for (let next = from; ;) {
      let rows: readonly Row<string>[];
      try {
        rows = await engine.waitFor(id, () => this.#look(engine, id, next), signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
      if (rows.length === 0) return undefined;
      for (const { seq, body } of rows) {
        next = seq + 1;
        const event = JSON.parse(body) as LoopEvent;
        yield { seq, event };
        if (event.type === "run-end" && event.path === undefined) return undefined;
      }
    }
  }

  /** Returns new events, or no events if the run has ended. Throws the error of a failed run. */
  async #look(engine: DurableEngine, id: string, from: number): Promise<readonly Row<string>[] | undefined> {
    const { store } = engine;
    const rows = await store.readEvents(id, from);
    if (rows.length > 0) return rows;
    const found = await this.#find(id, engine);
    if (found.state === "live") return undefined;
    // The last events may have been written between the two reads.
    const last = await store.readEvents(id, from);
    if (last.length === 0 && found.state === "failed") throw new Error(found.error);
    return last;
  }
}

function toUserMessage(message: unknown): UserMessage {
  return typeof message === "string" ? { role: "user", content: message } : (message as UserMessage);
}

/** Throws LoopError "invalid-decision" if the decision does not fit the waiting call. Otherwise, the run would deny the call. */
function checkDecision({ id, state }: PendingCall, decision: unknown): void {
  const waitsFor = state === "awaiting-result" ? "result" : "approval";
  if (waitsFor === "result" ? isOutsideResult(decision) : isApproval(decision)) return;
  throw new LoopError("invalid-decision", { call: id, waitsFor, problem: `is ${describeValue(decision)}` });
}
