// Reads what a journal says about its run, without the options of that run and without running anything.

import {
  type EndReason,
  invalidOption,
  isRecord,
  type Journal,
  LoopError,
  type LoopStatus,
  type Message,
  recordVersion,
  runKey,
  type RunRecord,
  type Usage,
} from "../../core/entry-kit.ts";
import { readJournal } from "../journal-session.ts";
import { type PendingCall, toRecords } from "./records.ts";
import { rebuildRun } from "./rebuild-run.ts";

/** `not-started` before the first record; `running` until the run ends, so also if its process died. Otherwise the status of its result. */
export type InspectedStatus = "not-started" | "running" | LoopStatus;

/** A run as its journal has it. Plain data. */
export interface JournalInspection {
  /** Undefined if the run was given no id, or has not started. */
  readonly runId: string | undefined;
  readonly status: InspectedStatus;
  /** How the run ended, or what it waits for; undefined while it has not. */
  readonly reason: EndReason | undefined;
  /** The messages that the run was given. The call that goes on with it is made with them. Empty if it has not started. */
  readonly initialMessages: readonly Message[];
  /** The transcript so far. While calls run, they have no results in it. */
  readonly messages: readonly Message[];
  /** Calls that have no outcome yet, in their order, those inside nested runs too. Empty once the run has ended. */
  readonly pendingCalls: readonly PendingCall[];
  /** The last text of the model that was not blank, trimmed; empty if there was none. */
  readonly text: string;
  /** Of all streams and nested runs that are recorded as over. */
  readonly usage: Usage;
  /** USD; undefined if the cost of a stream is not known. */
  readonly costUSD: number | undefined;
  /** How many iterations have begun to count towards `maxIterations`. */
  readonly iterations: number;
  /** Those inside nested runs included. */
  readonly toolCallsExecuted: number;
  /** When the run last looked at its inbox, in milliseconds of its clock; undefined before its first iteration. */
  readonly lastSeenMs: number | undefined;
}

/**
 * Reads a journal file, or a journal, and says how far its run has come: status, transcript, calls without an outcome, and usage. Asks no
 * model, runs no tool, takes no lock and writes nothing. It needs none of the run's options, and can be called while the run is live: a
 * last line that is half written is passed over.
 *
 * Rejects with LoopError "invalid-option" for anything else than a path or a journal with `read`, "journal-mismatch" for records of another
 * version, "journal-damaged" for a file or a record that was changed, "journal-refused" for a file that is no journal, and with the error of
 * the disk, such as ENOENT.
 *
 * To go on from the journal alone, call `runToolLoop` with `runId` and with `initialMessages` as its `messages`.
 *
 * @example
 * const { runId, pendingCalls } = await inspectJournal("runs/order-7.jsonl");
 * for (const { id, name, args, state } of pendingCalls) if (state === "awaiting-approval") console.log(runId, id, name, args);
 */
export async function inspectJournal(source: string | Journal): Promise<JournalInspection> {
  const { answers, durable } = await readSource(source);
  const records = toRecords(answers);
  const record = records.find<RunRecord>(runKey);
  const { state, ending, pendingCalls } = rebuildRun(records, records.last === undefined ? { messages: [] } : check(record));
  return {
    runId: record?.runId,
    status: ending?.status ?? (record === undefined ? "not-started" : "running"),
    reason: ending?.reason,
    initialMessages: record?.messages ?? [],
    messages: state.messages,
    pendingCalls: durable || ending !== undefined ? pendingCalls : pendingCalls.map(toUnsure),
    text: state.finalText.trim(),
    usage: state.usage,
    costUSD: state.costUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    lastSeenMs: state.lastInbox?.now,
  };
}

/** Without an intent before it, a call that runs has no record. */
function toUnsure(call: PendingCall): PendingCall {
  return call.state === "not-begun" ? { ...call, state: "may-have-run" } : call;
}

interface Source {
  readonly answers: ReadonlyMap<string, unknown>;
  /** Whether the beginning of a call is recorded as well as its end. */
  readonly durable: boolean;
}

async function readSource(source: unknown): Promise<Source> {
  if (typeof source === "string" && source !== "") return { answers: (await readJournal(source)).answers, durable: true };
  const journal: Partial<Journal> = isRecord(source) ? source : {};
  if (typeof journal.read !== "function")
    throw invalidOption("source", 'the path of a journal file, or a journal that has "read"', source);
  const answers: unknown = await journal.read();
  if (answers instanceof Map) return { answers, durable: journal.durable === true };
  throw invalidOption("source.read()", "a Map of the answers of all steps by key", answers);
}

/** Records of another version mean something else, and a journal that begins otherwise belongs to no run. */
function check(record: Partial<RunRecord> | undefined): RunRecord {
  const { version } = record ?? {};
  if (version === recordVersion) return record as RunRecord;
  throw new LoopError("journal-mismatch", { field: "version", expected: String(recordVersion), received: String(version) });
}
