import {
  type CompactedMessages,
  type EndReason,
  type Handoff,
  type InboxAnswer,
  invalidOption,
  isInboxKey,
  isRecord,
  type Journal,
  LoopError,
  type LoopStatus,
  type Message,
  placeResults,
  recordVersion,
  runKey,
  type RunRecord,
  type Usage,
} from "../../core/entry-kit.ts";
import { readJournal } from "../journal-session.ts";
import { type PendingCall, type Records, toRecords } from "./records.ts";
import { type Rebuilt, rebuildRun } from "./rebuild-run.ts";

/**
 * The status of a run in its journal: `not-started` before the first record, `running` until the run ends (also after a crash),
 * then the status of the result.
 */
export type InspectedStatus = "not-started" | "running" | LoopStatus;

/** The state of a run as recorded in its journal. Plain data. */
export interface JournalInspection {
  /** The `runId` from the options of the run. Undefined if no `runId` was set, or the run has not started. */
  readonly runId: string | undefined;
  readonly status: InspectedStatus;
  /** Why the run ended or is suspended. Undefined for a run with the status `not-started` or `running`. */
  readonly reason: EndReason | undefined;
  /**
   * The messages that the run was started with. To resume the run, pass these messages to `runToolLoop` again. Empty if the run
   * has not started.
   */
  readonly initialMessages: readonly Message[];
  /** The transcript so far, without results of calls that are still running. */
  readonly messages: readonly Message[];
  /** The tool calls without an outcome, in order, including calls in nested runs. Empty after the run has ended. */
  readonly pendingCalls: readonly PendingCall[];
  /** The last non-blank text from the model, trimmed. An empty string if there is no such text. */
  readonly text: string;
  /** The token usage of all finished streams and nested runs. */
  readonly usage: Usage;
  /** The cost in USD. Undefined if the cost of any stream is unknown. */
  readonly costUSD: number | undefined;
  /** The sum of the known costs in USD. The run cost at least this much, even if `costUSD` is undefined. */
  readonly knownCostUSD: number;
  /** The number of iterations so far. Iterations that do not count for `maxIterations` are not included. */
  readonly iterations: number;
  /** The number of executed tool calls, including calls in nested runs. */
  readonly toolCallsExecuted: number;
  /** The last summary that replaced messages in requests. Undefined without a compaction. */
  readonly compaction: CompactedMessages | undefined;
  /** The current agent. Undefined without `policies.handoffs`. */
  readonly agent: string | undefined;
  /** The handoffs of this run, in order. Undefined without `policies.handoffs`. */
  readonly handoffs: readonly Handoff[] | undefined;
  /** The time at which the run last read its inbox, in milliseconds of the run's clock. Undefined before the first iteration. */
  readonly lastSeenMs: number | undefined;
  /** The option `version` of the code that started the run. Undefined if this option was not set. */
  readonly version: string | undefined;
  /** The option `version` of the code that most recently began or ended an iteration of the run. */
  readonly lastVersion: string | undefined;
}

/**
 * Reads a journal file, or a journal, and returns the state of its run: status, transcript, calls without an outcome, and usage.
 * Sends no request, runs no tool, takes no lock and writes nothing. Needs none of the run's options. Can be called while the run
 * is running: an incomplete last line is ignored.
 *
 * Rejects with errors from the disk, such as ENOENT, and with LoopError:
 *
 * - "invalid-option" if the argument is neither a path nor a journal with `read`
 * - "journal-mismatch" for records in another version of the format
 * - "journal-damaged" for a changed file or record
 * - "journal-refused" for a path that is not a regular file
 *
 * To resume the run from its journal alone, call `runToolLoop` with the returned `runId`, and with `initialMessages` as
 * `messages`.
 *
 * @example
 * const { runId, pendingCalls } = await inspectJournal("runs/order-7.jsonl");
 * for (const { id, name, args, state } of pendingCalls) if (state === "awaiting-approval") console.log(runId, id, name, args);
 */
export async function inspectJournal(source: string | Journal): Promise<JournalInspection> {
  return toInspection(await rebuildJournal(source));
}

/** The records of a journal, and the state that follows from them. */
export interface RebuiltRun extends RecordedRun {
  readonly rebuilt: Rebuilt;
}

export async function rebuildJournal(source: string | Journal): Promise<RebuiltRun> {
  const recorded = await readRecords(source);
  return { ...recorded, rebuilt: rebuildRun(recorded.records, recorded.record ?? { messages: [] }) };
}

export function toInspection({ answers, durable, record, rebuilt }: RebuiltRun): JournalInspection {
  const { state, ending, pendingCalls } = rebuilt;
  return {
    runId: record?.runId,
    status: ending?.status ?? (record === undefined ? "not-started" : "running"),
    reason: ending?.reason,
    initialMessages: record?.messages ?? [],
    messages: messagesOf(rebuilt),
    pendingCalls: durable || ending !== undefined ? pendingCalls : pendingCalls.map(toUnsure),
    text: state.finalText.trim(),
    usage: state.usage,
    costUSD: state.costUSD,
    knownCostUSD: state.spentUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    compaction: state.compaction,
    ...agentOf(rebuilt),
    lastSeenMs: state.lastInbox?.now,
    ...readVersions(record, answers),
  };
}

function agentOf({ state: { agent, handoffs } }: Rebuilt): Pick<JournalInspection, "agent" | "handoffs"> {
  return { agent, handoffs: agent === undefined ? undefined : handoffs };
}

/** Adds the results of the calls that have ended, although other calls of the same message have not. */
function messagesOf({ state, over = [] }: Rebuilt): readonly Message[] {
  placeResults(state, over);
  return state.messages;
}

/** The records of a journal. `record` is the record of the start of the run, and undefined if the run has not started. */
export interface RecordedRun extends Source {
  readonly records: Records;
  readonly record: RunRecord | undefined;
}

export async function readRecords(source: unknown): Promise<RecordedRun> {
  const { answers, durable } = await readSource(source);
  const records = toRecords(answers);
  const record = records.find<RunRecord>(runKey);
  return { answers, durable, records, record: records.last === undefined ? undefined : check(record) };
}

function readVersions(
  record: RunRecord | undefined,
  answers: ReadonlyMap<string, unknown>,
): Pick<JournalInspection, "version" | "lastVersion"> {
  const version = record?.codeVersion;
  let last = version;
  // An inbox step has a version only if the version has changed.
  for (const [key, answer] of answers) {
    if (isInboxKey(key) && isRecord(answer)) last = (answer as Partial<InboxAnswer>).codeVersion ?? last;
  }
  return { version, lastVersion: last };
}

/** A journal that is not durable does not record when a call begins, so a call without records may have run. */
function toUnsure(call: PendingCall): PendingCall {
  return call.state === "not-begun" ? { ...call, state: "may-have-run" } : call;
}

interface Source {
  readonly answers: ReadonlyMap<string, unknown>;
  /** True if the journal records the start and the end of each tool call. False if the journal records only the end. */
  readonly durable: boolean;
}

async function readSource(source: unknown): Promise<Source> {
  if (typeof source === "string" && source !== "") return { answers: (await readJournal(source)).answers, durable: true };
  const journal: Partial<Journal> = isRecord(source) ? source : {};
  if (typeof journal.read !== "function")
    throw invalidOption("source", 'the path of a journal file, or a journal with a "read" method', source);
  const answers: unknown = await journal.read();
  if (answers instanceof Map) return { answers, durable: journal.durable === true };
  throw invalidOption("source.read()", "a Map from step keys to recorded results", answers);
}

/** Throws if the records have another version of the format. Also throws if the record of the start of the run is missing. */
function check(record: Partial<RunRecord> | undefined): RunRecord {
  const { version } = record ?? {};
  if (version === recordVersion) return record as RunRecord;
  throw new LoopError("journal-mismatch", { field: "version", expected: String(recordVersion), received: String(version) });
}
