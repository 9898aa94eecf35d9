import {
  type CompactionAnswer,
  type Ending,
  type InboxAnswer,
  isUnfinishedStream,
  type Journal,
  type LoopState,
  type Message,
  runKey as firstKey,
  type RunRecord,
  type RunStart,
  type StepResult,
  type StreamResult,
  toCompacted,
  type BegunRecord,
  callKey,
  type CallPlace,
  decisionKey,
  earlyOutcomesOf,
  type RecordedDecision,
  type RecordedResult,
  renderOutcome,
  type SettledCall,
  type ToolCall,
  type ToolOutcome,
  wasDispatched,
} from "../../core/entry-kit.ts";
import { readRecords } from "../../journal/inspect/inspect-journal.ts";
import { rebuildRun } from "../../journal/inspect/rebuild-run.ts";
import type { Records } from "../../journal/inspect/records.ts";
import { Cleaner } from "../log/clean-values.ts";
import { createLogState, type KnownRun, type LogFields, runKey } from "../log/log-lines.ts";
import { LogWriter } from "../log/log-writer.ts";
import { outputFields } from "../log/output-draft.ts";
import { measure, measureList } from "../log/shared-values.ts";

/** The members of `RunWriter` that this file uses. */
export interface CallWriter {
  readonly records: Records;
  readonly cleaner: Cleaner;
  at: number;
  write(type: string, fields: LogFields): void;
  /** Writes a nested run, and returns the time of its last line. */
  writeNested(callId: string, inner: Records): number;
}

/** Writes all calls of the current message. `settled` is undefined if some calls have not ended. */
function writeCalls(writer: CallWriter, state: LoopState, settled: readonly SettledCall[] | undefined): void {
  const begin = writer.at;
  const ends = state.current.calls.map((call, index) => {
    const one: WrittenCall = { state, call, index, settled: settled?.[index] ?? findSettled(writer.records, state, call) };
    writer.at = begin;
    writeCall(writer, one);
    return writer.at;
  });
  writer.at = Math.max(begin, ...ends);
}

interface WrittenCall {
  readonly state: LoopState;
  readonly call: ToolCall;
  readonly index: number;
  readonly settled: SettledCall | undefined;
}

/** Returns what the journal has about the end of a call, if its iteration is unfinished. */
function findSettled(records: Records, state: LoopState, call: ToolCall): SettledCall | undefined {
  const refusals = state.streamResults.at(-1)?.refusals ?? [];
  const early = earlyOutcomesOf(state.current).get(call.callId) ?? refusals.find((one) => one.call.callId === call.callId);
  if (early !== undefined) return { outcome: early };
  const index = state.current.calls.indexOf(call);
  const round = lastRound(records, state, { index, name: call.name });
  const outcome = records.find<ToolOutcome>(callKey(state, "tool", { index, name: call.name, round }));
  return outcome === undefined ? undefined : { outcome };
}

/** Returns the number of the last request for a decision about a call, counted from 0. Returns 0 if there was no request. */
function lastRound(records: Records, state: LoopState, { index, name }: CallPlace): number {
  for (let round = 0; ; round += 1) {
    if (!records.has(callKey(state, "approval", { index, name, round: round + 1 }))) return round;
  }
}

function writeCall(writer: CallWriter, one: WrittenCall): void {
  const { call, index, settled, state } = one;
  const { records } = writer;
  const last = lastRound(records, state, { index, name: call.name });
  for (let round = 0; round <= last; round += 1) writeDecision(writer, one, round);
  const place = { index, name: call.name, round: last };
  const outcome = settled?.outcome;
  if (isHeld(records, one, place)) return;
  const begin = writer.at;
  if (outcome === undefined || wasDispatched(outcome.kind)) writeLine(writer, one, "tool-start");
  writeNested(writer, one, place);
  const wasDeferred = records.find<RecordedResult>(callKey(state, "result", place)) !== undefined;
  if (outcome === undefined) return;
  if (wasDeferred && outcome.kind !== "deferred") {
    writeEnd(writer, one, { ...outcome, kind: "deferred" });
  }
  writer.at = Math.max(writer.at, begin + outcome.durationMs);
  writeEnd(writer, one, outcome);
}

/** True if the call waits for a decision, or if the journal has no start of the call. */
function isHeld(records: Records, { state, settled }: WrittenCall, place: CallPlace): boolean {
  if (settled !== undefined) return settled.awaiting !== undefined && settled.outcome.kind === "not-run";
  return !records.has(callKey(state, "intent", place)) && !records.has(callKey(state, "agent", place));
}

function writeLine(writer: CallWriter, { state, call, index }: WrittenCall, type: string): void {
  const args = writer.cleaner.content(call.args, "arguments");
  writer.write(type, { iteration: state.iteration, callId: call.callId, name: call.name, index, args });
}

function writeEnd(writer: CallWriter, { state, call, index, settled }: WrittenCall, outcome: ToolOutcome): void {
  const { kind, durationMs } = outcome;
  const read = settled?.restart === undefined ? renderOutcome(outcome) : { status: "context_restarted" };
  const result = writer.cleaner.content(read, "result");
  const base = { iteration: state.iteration, callId: call.callId, name: call.name, index };
  writer.write("tool-end", { ...base, outcome: kind, result, durationMs });
}

/** Writes the request for a decision, and the decision if there is one. */
function writeDecision(writer: CallWriter, one: WrittenCall, round: number): void {
  const { call, index, state } = one;
  const { records } = writer;
  const key = callKey(state, "approval", { index, name: call.name, round });
  let decision = records.find<RecordedDecision>(key);
  if (decision === undefined) return;
  writeLine(writer, one, "approval-asked");
  for (let attempt = 1; decision?.kind === "ask"; attempt += 1) {
    const later: RecordedDecision | undefined = records.find<RecordedDecision>(decisionKey(key, attempt));
    if (later === undefined) return;
    decision = later;
  }
  if (decision.kind === "refused" || decision.kind === "cancelled") return;
  const { cleaner } = writer;
  writer.write("approval-decided", {
    iteration: state.iteration,
    callId: call.callId,
    name: call.name,
    index,
    decision: decision.kind,
    args: "args" in decision ? cleaner.content(decision.args, "arguments") : undefined,
    reason: "reason" in decision && decision.reason !== undefined ? cleaner.text(decision.reason, "event") : undefined,
    error: decision.kind === "failed" ? cleaner.fields(decision.error, "error") : undefined,
  });
}

function writeNested(writer: CallWriter, { state, call }: WrittenCall, place: CallPlace): void {
  const { records } = writer;
  if (records.find<BegunRecord>(callKey(state, "agent", place))?.kind !== "begun") return;
  writer.at = writer.writeNested(call.callId, records.within(`${callKey(state, "tool", place)}/`));
}

interface LogPorts {
  readonly writer: LogWriter;
  readonly cleaner: Cleaner;
}

function collectLines(lines: string[]): LogWriter {
  const write = (line: string): void => void lines.push(line);
  return new LogWriter(
    () => ({ state: createLogState(), isNew: true, from: "journal", write, close: () => {} }),
    () => {},
  );
}

/**
 * Reads a journal, and returns the text of a run log with everything that the journal holds: iterations, outputs, calls, outcomes,
 * decisions, nested runs, usage, durations and the ending. `parseRunLog` of this text has the `source` "journal".
 *
 * The times of this log are milliseconds since the start of the run. A journal does not record how a request was sent, so each
 * request has the transcript, without system text, settings, context items and masking. First tokens, attempts, progress and
 * metadata are missing too.
 *
 * Can be called while the run is running: an incomplete last line is ignored. Rejects like `inspectJournal`: with errors from the
 * disk, and with LoopError "invalid-option", "journal-mismatch", "journal-damaged" or "journal-refused".
 *
 * @example
 * const text = await journalToRunLog("runs/order-7.jsonl");
 * await writeFile("order-7.html", await renderRunPage({ name: "order-7", text }));
 */
export async function journalToRunLog(source: string | Journal): Promise<string> {
  const { records, record } = await readRecords(source);
  const lines: string[] = [];
  const writer = collectLines(lines);
  writer.begin(0);
  const ports = { writer, cleaner: new Cleaner(undefined) };
  if (record !== undefined) writeRun(ports, { records, start: record, runId: record.runId ?? "run", path: [], at: 0 });
  return lines.join("");
}

interface RunSource {
  readonly records: Records;
  readonly start: RunStart & Partial<RunRecord>;
  readonly runId: string;
  readonly path: readonly string[];
  /** The number of the outer run in the log. */
  readonly parent?: number | undefined;
  readonly at: number;
}

/** Writes the lines of a run and of its nested runs. Returns the time of its last line. */
function writeRun(ports: LogPorts, place: RunSource): number {
  const writer = new RunWriter(ports, place);
  const { state, ending } = rebuildRun(place.records, place.start, (step, before) => writer.take(step, before));
  return writer.end(state, ending);
}

class RunWriter implements CallWriter {
  readonly records: Records;
  readonly cleaner: Cleaner;
  at: number;
  readonly #ports: LogPorts;
  readonly #place: RunSource;
  readonly #run: KnownRun;
  #open: { readonly result: StreamResult; readonly continuation: number; readonly iteration: number } | undefined;
  #sent: readonly Message[] = [];
  #clock: { readonly token: string; readonly now: number; readonly at: number } | undefined;
  #isStarted = false;
  #early: Parameters<LogWriter["write"]>[1][] = [];

  constructor(ports: LogPorts, place: RunSource) {
    this.#ports = ports;
    this.#place = place;
    this.#run = ports.writer.findRun(runKey(ports.cleaner.id(place.runId), place.path));
    this.records = place.records;
    this.cleaner = ports.cleaner;
    this.at = place.at;
  }

  /** The provider of the run is known only from its first stream, so earlier lines wait for the line `run-start`. */
  write(type: string, fields: LogFields, at: number = this.at): void {
    const line = { type, at, ...this.cleaner.names(fields) };
    if (this.#isStarted) this.#ports.writer.write(this.#run, line);
    else this.#early.push(line);
  }

  take(step: StepResult, state: LoopState): void {
    if (step.kind === "model") return this.#writeStream(step.result, state);
    if (step.kind === "batch") {
      writeCalls(this, state, step.settled);
      return this.#endIteration();
    }
    this.#endIteration();
    if (step.kind === "inbox" || step.kind === "last-look") this.#follow(step.answer);
    if (step.kind === "compaction") this.#writeCompaction(step.answer, state);
    if (step.kind === "reopen") this.write("attempt-discarded", { iteration: state.iteration });
    if (step.kind !== "steer") return;
    for (const { verb, message } of state.unsent) {
      if (verb !== "steer") continue;
      this.write("steered", { iteration: state.iteration, message: this.cleaner.fields(message, "messages") });
    }
  }

  /**
   * Moves `at` on by the time since the previous inbox answer, so that waits between iterations are included. Only answers with
   * the same token have comparable clocks.
   */
  #follow({ token, now }: InboxAnswer): void {
    const last = this.#clock;
    if (last?.token === token) this.at = Math.max(this.at, last.at + now - last.now);
    this.#clock = { token, now, at: this.at };
  }

  #begin({ provider, model }: Pick<StreamResult, "provider" | "model">): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { runId, path, parent, start } = this.#place;
    const nested = path.length === 0 ? {} : { path: [...path], parent };
    const version = start.codeVersion;
    this.write("run-start", { runId, ...nested, provider, model, version }, this.#place.at);
    for (const line of this.#early) this.#ports.writer.write(this.#run, line);
    this.#early = [];
  }

  #writeStream(result: StreamResult, state: LoopState): void {
    const { cleaner } = this;
    this.#begin(result);
    this.#endIteration();
    const { iteration, continuation } = state;
    const base = { iteration, continuation };
    this.write("iteration-start", { ...base, agent: state.agent });
    this.#writeRequest(result, state);
    this.at += result.durationMs;
    const before = continuation === 0 ? 0 : state.current.calls.length;
    const calls = result.calls.map(({ callId, name, args, problem }, index) => {
      return {
        callId: cleaner.id(callId),
        name: cleaner.id(name),
        index: before + index,
        args: cleaner.content(args, "arguments"),
        problem,
        at: this.at,
      };
    });
    const fields = outputFields(cleaner, { ...result, calls });
    // A stream that was cut off before its first chunk has no output.
    if (Object.values(fields).some((value) => value !== undefined)) this.write("output", { ...base, ...fields });
    this.#open = { result, ...base };
    if (isUnfinishedStream(result)) this.#endIteration();
  }

  /** Writes the transcript as a request. Messages are compared by identity, because the run never changes a message. */
  #writeRequest(
    { provider, model, visibleTools }: StreamResult,
    { iteration, continuation, messages, compaction }: LoopState,
  ): void {
    const sent = compaction === undefined ? [...messages] : toCompacted(messages, compaction);
    let keep = 0;
    while (keep < sent.length && sent[keep] === this.#sent[keep]) keep += 1;
    const add = sent.slice(keep).map((message) => measure(this.cleaner.fields(message, "messages") ?? null));
    this.#sent = sent;
    const tools = this.#describeTools(visibleTools);
    this.write("request", { iteration, continuation, provider, model, tools, keep, add: measureList(add) });
  }

  #describeTools(names: readonly string[]): LogFields[string] {
    const { tools = {} } = this.#place.start;
    const shown = names.map((name) => (Object.hasOwn(tools, name) ? { name, ...tools[name] } : { name }));
    return shown.length === 0 ? undefined : this.cleaner.fields(shown, "tools");
  }

  writeNested(callId: string, records: Records): number {
    const { runId, path } = this.#place;
    const start = records.find<RunRecord>(firstKey) ?? { messages: [] };
    const own = "runId" in start ? start.runId : undefined;
    const nested = { records, start, path: [...path, callId], parent: this.#run.number, at: this.at };
    return writeRun(this.#ports, { ...nested, runId: own ?? `${runId}/${callId}` });
  }

  /** Writes start and end with the same time, because a journal does not have the duration of a summary. */
  #writeCompaction(answer: CompactionAnswer, { iteration, lastInbox }: LoopState): void {
    const { kind: outcome, tokensBefore, tokensAfter, spending = {} } = answer;
    const { usage, ...more }: Partial<NonNullable<typeof answer.spending>> = spending;
    const error = answer.kind === "failed" ? this.cleaner.fields(answer.error, "error") : undefined;
    this.write("compaction-start", { iteration, cause: lastInbox?.compact });
    const facts = { outcome, tokensBefore, tokensAfter, ...more, usage: usage && { ...usage }, error };
    this.write("compaction-end", { iteration, ...facts });
  }

  #endIteration(): void {
    if (this.#open === undefined) return;
    const { result, iteration, continuation } = this.#open;
    this.#open = undefined;
    const { status, provider, model, finish, usage, costUSD, durationMs } = result;
    const facts = { status, provider, model, finish, usage: usage && { ...usage }, costUSD, durationMs };
    this.write("iteration-end", { iteration, continuation, ...facts });
  }

  end(state: LoopState, ending: Ending | undefined): number {
    const isOpen = this.#open !== undefined;
    if (isOpen) writeCalls(this, state, undefined);
    if (isOpen && ending !== undefined) this.#endIteration();
    this.#begin({ provider: "", model: "" });
    if (ending === undefined) return this.at;
    const { usage, costUSD, countedIterations: iterations, toolCallsExecuted, activeMs: durationMs } = state;
    const reason = this.cleaner.fields(ending.reason, "event");
    const facts = { usage: { ...usage }, costUSD, iterations, toolCallsExecuted, durationMs };
    this.write("run-end", { iteration: Math.max(0, state.iteration), status: ending.status, reason, ...facts });
    return this.at;
  }
}
