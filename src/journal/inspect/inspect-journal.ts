import { invalidOption, readRecords, toReason } from "../../core/kit.ts";
import type { CompactedMessages } from "../../core/types/middleware-options.ts";
import type { Handoff } from "../../core/types/tool-outcome.ts";
import type { EndReason, Journal, LoopStatus, Message, Usage } from "../../core/index.ts";
import { noUsage } from "../../shared/count-usage.ts";
import { readJournal } from "../journal-session.ts";
import { isJournal } from "../replay-journal.ts";

export type RecordedRun = NonNullable<Awaited<ReturnType<typeof readRecords>>>;

export type WatchRun = NonNullable<Parameters<typeof readRecords>[1]>;

/** A run whose records are being read. */
export type RecordedPlace = Parameters<WatchRun>[0];

/** A tool call without an outcome. */
export type PendingCall = RecordedRun["pendingCalls"][number];

/**
 * The status of a run in its journal: `not-started` before the first record, `running` until the run ends (even after a crash),
 * then the result's status.
 */
export type InspectedStatus = "not-started" | "running" | LoopStatus;

/** The state of a run as recorded in its journal, as JSON data. */
export interface JournalInspection {
  /** The run's `runId` option. Undefined if it was not set, or if the run has not started. */
  readonly runId: string | undefined;
  readonly status: InspectedStatus;
  /** Why the run ended or is suspended. Undefined for a run with the status `not-started` or `running`. */
  readonly reason: EndReason | undefined;
  /**
   * The messages that the run was started with. To resume the run, pass these messages to `runToolLoop` again. Empty if the run
   * has not started.
   */
  readonly initialMessages: readonly Message[];
  /**
   * The transcript so far, without results of calls that are still running. A warning from `detectLoops` appears once the model's answer to
   * it is recorded.
   */
  readonly messages: readonly Message[];
  /** The tool calls without an outcome, in order, including calls in nested runs. Empty after the run has ended. */
  readonly pendingCalls: readonly PendingCall[];
  /** The last non-blank text from the model, trimmed. An empty string if there is no such text. */
  readonly text: string;
  /** The token usage of all finished streams and nested runs. */
  readonly usage: Usage;
  /** The cost in USD. Undefined if any stream's cost is unknown. */
  readonly costUSD: number | undefined;
  /** The sum of the known costs in USD. The run has cost at least this much, even if `costUSD` is undefined. */
  readonly knownCostUSD: number;
  /** The number of iterations so far. Iterations that do not count toward `maxIterations` are not included. */
  readonly iterations: number;
  /** The number of executed tool calls, including calls in nested runs. */
  readonly toolCallsExecuted: number;
  /** The last summary that replaced messages in requests. Undefined without a compaction. */
  readonly compaction: CompactedMessages | undefined;
  /** The current agent. Undefined without `createHandoffs`. */
  readonly agent: string | undefined;
  /** The handoffs in this run, in order. Undefined without `createHandoffs`. */
  readonly handoffs: readonly Handoff[] | undefined;
  /** The time at which the run last checked for messages, in milliseconds on its clock. Undefined before the first iteration. */
  readonly lastSeenMs: number | undefined;
  /** The `version` option of the code that started the run. Undefined if this option was not set. */
  readonly version: string | undefined;
  /** The `version` option of the code that most recently began or ended an iteration in the run. */
  readonly lastVersion: string | undefined;
}

/**
 * Reads a journal file, or a journal, and returns the state of its run: status, transcript, calls without an outcome, and usage. Sends no
 * request, runs no tool, takes no lock and writes nothing. Needs none of the run's options. Can be called during the run: an incomplete
 * last line is ignored.
 *
 * Rejects with file system errors, such as ENOENT, and with LoopError:
 *
 * - "invalid-option" if the argument is neither a path nor a journal
 * - "journal-mismatch" for records in a different format version
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
  return toInspection(await readJournalRun(source));
}

/** Reads the run in a journal. Returns undefined if the run has not started. */
export async function readJournalRun(source: unknown, watch?: WatchRun): Promise<RecordedRun | undefined> {
  const { journal, close } = await openRecords(source);
  try {
    return await readRecords(journal, watch);
  } finally {
    await close();
  }
}

export function toInspection(run: RecordedRun | undefined): JournalInspection {
  if (run === undefined) return notStarted;
  const { first, state, result, pendingCalls } = run;
  const { compaction, agent, handoffs }: Partial<JournalInspection> = run.extra;
  return {
    runId: first.runId,
    status: result?.status ?? "running",
    reason: result && toReason(result.reason),
    initialMessages: first.messages,
    messages: result?.messages ?? [...state.messages],
    pendingCalls,
    text: state.finalText.trim(),
    usage: state.usage,
    costUSD: state.costUSD,
    knownCostUSD: state.spentUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    compaction,
    agent,
    handoffs,
    lastSeenMs: state.look?.now,
    version: first.codeVersion,
    lastVersion: state.codeVersion,
  };
}

const notStarted: JournalInspection = {
  runId: undefined,
  status: "not-started",
  reason: undefined,
  initialMessages: [],
  messages: [],
  pendingCalls: [],
  text: "",
  usage: noUsage,
  costUSD: undefined,
  knownCostUSD: 0,
  iterations: 0,
  toolCallsExecuted: 0,
  compaction: undefined,
  agent: undefined,
  handoffs: undefined,
  lastSeenMs: undefined,
  version: undefined,
  lastVersion: undefined,
};

interface OpenRecords {
  readonly journal: Parameters<typeof readRecords>[0];
  close(): PromiseLike<void> | void;
}

async function openRecords(source: unknown): Promise<OpenRecords> {
  if (typeof source === "string" && source !== "") {
    const { answers } = await readJournal(source);
    const journal = { durable: true, read: (key: string) => answers.get(key), keys: () => [...answers.keys()] };
    return { journal, close: () => {} };
  }
  if (!isJournal(source)) throw invalidOption("source", "a journal or the path to a journal file", source);
  const close = await source.open?.({ readOnly: true });
  return { journal: source, close: close ?? (() => {}) };
}
