// Compaction as middleware: replaces a request's old messages with a summary. Creating the summary is a journal step.

import {
  addSpending,
  CancelScope,
  endWith,
  findSpentLimit,
  isCompaction,
  isRecord,
  type Recorder,
  type RequestDraft,
  type RunFacts,
  type State,
} from "../../core/kit.ts";
import type { CompactedMessages, CompactionAnswer } from "../../core/types/middleware-options.ts";
import { fitsMessages, refusedAsTooLong, toCompacted } from "../../shared/transcript.ts";
import {
  LoopError,
  type Message,
  type Middleware,
  type Provider,
  type StreamResult,
  type ToolDefinition,
} from "../../core/index.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { SummaryRun } from "./write-summary.ts";

/** The newest compaction, and the number of streams before it. */
interface LastCompaction {
  readonly answer: CompactionAnswer;
  readonly streams: number;
}

/** The messages that an agent sees if its handoff filters the earlier messages. */
export interface FilteredMessages {
  readonly messages: readonly Message[];
  /** The number of messages that the filter kept, at the beginning of `messages`. */
  readonly left: number;
  /** The number of transcript messages that were passed to the filter. */
  readonly before: number;
}

/** The parts of a run's state that are needed for a compaction. */
export interface CompactionFacts {
  readonly provider: Provider;
  readonly system: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly transcript: readonly Message[];
  /** The transcript as the model sees it, without masked results. */
  readonly messages: readonly Message[];
  /** The filtered messages, if the current agent does not see all messages. */
  readonly filtered?: FilteredMessages | undefined;
  readonly earlier: CompactedMessages | undefined;
  readonly streams: readonly StreamResult[];
  readonly last: LastCompaction | undefined;
  /** True if the service has refused the previous request as too long. */
  readonly isForced: boolean;
}

/** The values needed to write a summary. */
export interface SummaryFacts extends CompactionFacts {
  readonly summaryRun: SummaryRun;
}

interface CompactionCore {
  earlierOf(messages: readonly Message[]): CompactedMessages | undefined;
  /** False for a service that writes the summaries itself. */
  mayBeDue(provider: Provider): boolean;
  isDue(facts: CompactionFacts): boolean;
  compact(facts: SummaryFacts): Promise<CompactionAnswer>;
  thresholdFor(provider: Provider): number | undefined;
}

type Cause = "due" | "forced";

/** The state of one run. */
interface CompactionState {
  compaction: CompactedMessages | undefined;
  last: LastCompaction | undefined;
  isForced: boolean;
  hasBegun: boolean;
  /** The number of streams when a refusal last led to a compaction, so that each refusal leads to only one. */
  forcedAt: number;
}

export function compactWith(core: CompactionCore): Middleware {
  return {
    name: "compaction",
    // Runs after `handoffs`, because an agent's history filter expects the positions that messages had before any summary.
    after: ["handoffs"],
    begin: (run) => {
      const compaction = core.earlierOf(run.messages);
      const own: CompactionState = { compaction, last: undefined, isForced: false, hasBegun: false, forcedAt: 0 };
      return {
        async request(request, next, at) {
          const { state } = at;
          const { provider } = request;
          const find = (): CompactionFacts => {
            const { compaction: earlier, last, isForced } = own;
            return { ...factsOf(request, at), earlier, last, isForced };
          };
          const guard = <T>(work: () => T): T | undefined => guarded(at, work);
          await beginRecorded(own, at);
          if (state.continuation === 0) {
            const cause = own.isForced
              ? "forced"
              : await findDue(at, () => core.mayBeDue(provider) && guard(() => core.isDue(find())) === true);
            if (cause !== undefined) {
              const facts = find();
              const answer = await compactNow(own, { cause, at, facts }, () => summarize(facts, at, { run, core }));
              const refusal = state.answers.at(-1)?.reason;
              own.isForced = false;
              // Does not end the run here if it was stopped while the summary was being written, because the next stream then ends it.
              if (cause === "forced" && answer.kind === "failed" && answer.cancelled !== true && refusal !== undefined)
                return endWith({ status: "error", reason: refusal }, provider);
              const spent = findSpentLimit(at, state.lastCostUSD);
              if (spent !== undefined) return endWith({ status: "error", reason: spent }, provider);
            }
          }
          const messages =
            own.compaction === undefined ? request.messages : applySummary(request.messages, state, own.compaction);
          const compactAt = guard(() => core.thresholdFor(provider));
          return next({ ...request, messages, ...(compactAt !== undefined && { compactAt }) });
        },
        async beforeEnd(_ending, { state }) {
          const { length } = state.answers;
          const { forcedAt, last } = own;
          // If the service refuses the shortened request as well, the run ends with that refusal.
          const isAgain = forcedAt === length - 1 && last?.answer.kind === "compacted";
          if (!isTooLong(state) || forcedAt === length || (forcedAt > 0 && isAgain)) return undefined;
          own.forcedAt = length;
          own.isForced = true;
          return { again: [], isCounted: true };
        },
        result: () => ({ compaction: own.compaction }),
      };
    },
  };
}

/** Begins a resumed run with its recorded summary. */
async function beginRecorded(own: CompactionState, at: Recorder): Promise<void> {
  if (own.hasBegun) return;
  own.hasBegun = true;
  const earlier = await at.step("earlier", () => own.compaction ?? null);
  own.compaction = earlier === null ? undefined : checkRecorded(earlier, at);
}

interface DueCompaction {
  readonly cause: Cause;
  readonly at: Recorder;
  readonly facts: CompactionFacts;
}

async function compactNow(
  own: CompactionState,
  { cause, at, facts }: DueCompaction,
  compact: () => Promise<CompactionAnswer>,
): Promise<CompactionAnswer> {
  at.emit("compaction-start", { cause });
  const answer = await at.step("summary", async (): Promise<CompactionAnswer> => {
    const made = await compact();
    return made.kind === "failed" && at.signal.aborted ? { ...made, cancelled: true } : made;
  });
  if (!isRecord(answer)) throw damaged("is not a summary");
  const { kind: outcome, tokensBefore, tokensAfter, spending } = answer;
  const { provider, model, usage, costUSD } = spending ?? {};
  if (spending !== undefined) addSpending(at, spending);
  own.last = { answer, streams: facts.streams.length };
  if (answer.kind === "compacted") own.compaction = checkRecorded(answer.compaction, at);
  const error = answer.kind === "failed" ? { error: answer.error } : {};
  at.emit("compaction-end", { outcome, tokensBefore, tokensAfter, provider, model, usage, costUSD, ...error });
  return answer;
}

/** Checks a recorded compaction, because a saved journal may have been edited. */
function checkRecorded(given: unknown, { state: { messages } }: Recorder): CompactedMessages {
  if (isCompaction(given) && fitsMessages(given, messages)) return given;
  throw damaged("has a summary of different messages");
}

function damaged(problem: string): LoopError {
  return new LoopError("journal-damaged", { key: "compaction", problem });
}

/**
 * Decides whether a compaction is due. The decision is recorded, because the caller may change the options and the `contextWindow`
 * function.
 */
async function findDue(at: Recorder, isDue: () => boolean): Promise<Cause | undefined> {
  return (await at.step("due", () => isDue() || undefined)) === true ? "due" : undefined;
}

/** Calls the caller's `contextWindow` function. Returns undefined if it throws. */
function guarded<T>(at: Recorder, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    at.emit("listener-error", { event: "compaction.contextWindow", error: toPlainError(error) });
    return undefined;
  }
}

type Found = Omit<CompactionFacts, "earlier" | "last" | "isForced">;

function factsOf({ provider, system, tools, messages }: RequestDraft, at: Recorder): Found {
  const { state } = at;
  const filtered = findFiltered(messages, state.messages);
  return {
    provider,
    system,
    tools,
    transcript: state.messages,
    messages: filtered === undefined ? messages : state.messages,
    filtered,
    streams: state.answers,
  };
}

interface SummaryMaker {
  readonly run: RunFacts;
  readonly core: CompactionCore;
}

/** Writes the summary, and removes its abort listener afterwards. */
async function summarize(facts: CompactionFacts, at: Recorder, { run, core }: SummaryMaker): Promise<CompactionAnswer> {
  const scope = new CancelScope();
  scope.follow(at.signal);
  try {
    return await core.compact({ ...facts, summaryRun: { ...summaryRunOf(at, run), scope } });
  } finally {
    scope.release();
  }
}

function summaryRunOf(at: Recorder, { runId, clock, timeouts, options: { pricing } }: RunFacts): Omit<SummaryRun, "scope"> {
  const { iteration, heldIds } = at.state;
  return {
    iteration,
    clock,
    timeouts,
    heldIds,
    pricing,
    events: {
      runId,
      wants: () => false,
      room: () => undefined,
      send: (event) => {
        if (event.type === "listener-error") at.emit("listener-error", { event: event.event, error: event.error });
      },
    },
    findSpent: (expectedUSD, spent) => findSpentLimit(at, expectedUSD, spent),
  };
}

/** Returns how many of the last messages come unchanged from the transcript, if other middleware has filtered the earlier ones. */
function findFiltered(messages: readonly Message[], transcript: readonly Message[]): FilteredMessages | undefined {
  if (messages.length === transcript.length) return undefined;
  let same = 0;
  while (same < messages.length && messages.at(-1 - same) === transcript.at(-1 - same)) same += 1;
  return { messages, left: messages.length - same, before: transcript.length - same };
}

/** Applies a summary to a request. Does nothing if the summary covers messages that the current agent does not see. */
function applySummary(
  messages: readonly Message[],
  { messages: transcript }: State,
  compaction: CompactedMessages,
): readonly Message[] {
  const filtered = findFiltered(messages, transcript);
  if (filtered === undefined) return toCompacted(messages, compaction);
  return compaction.count > filtered.before ? toCompacted(transcript, compaction) : messages;
}

/** True if the service refused the last request as too long, before the model wrote anything. */
function isTooLong({ answers, current: { text, reasoning, calls } }: State): boolean {
  const last = answers.at(-1);
  return last !== undefined && refusedAsTooLong(last) && text === "" && reasoning === "" && calls.length === 0;
}
