// Writes the calls of one iteration of a journal to a log: decisions, starts, ends and nested runs.

import {
  type BegunRecord,
  callKey,
  type CallPlace,
  decisionKey,
  earlyOutcomesOf,
  type LoopState,
  type RecordedDecision,
  type RecordedResult,
  renderOutcome,
  type SettledCall,
  type ToolCall,
  type ToolOutcome,
  wasDispatched,
} from "../../core/entry-kit.ts";
import type { Records } from "../../journal/inspect/records.ts";
import type { Cleaner } from "../log/clean-values.ts";
import type { LogFields } from "../log/log-lines.ts";

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
export function writeCalls(writer: CallWriter, state: LoopState, settled: readonly SettledCall[] | undefined): void {
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
