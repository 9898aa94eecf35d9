// Runs an iteration again with other options. The steps before it are answered from a journal or a log of the first run, so that nothing is
// executed before that iteration.

import {
  type EntryOptions,
  isRecord,
  type Journal,
  limitRules,
  LoopError,
  checkFields,
  type Checks,
  type LoopOptions,
  processResults,
  type ResultProcessor,
  type Tool,
  wrapJournal,
  type HookAnswer,
  type InboxAnswer,
  type InboxMessage,
  iterationOf,
  memoryJournal,
  type OutputAnswer,
  type Step,
  stepKey,
  streamKey,
  type UserMessage,
  whenAllReady,
  whenReady,
  type LoopState,
  type Message,
  type SettledCall,
  type StepResult,
  type StreamResult,
} from "../../core/entry-kit.ts";
import { findStart } from "../log/log-file.ts";
import { readRunLog } from "../log/read-run-log.ts";
import type { LoggedRun, RunLog } from "../log/run-log.ts";
import {
  type Past,
  refuseRerun,
  isLoopWarning,
  findAdded,
  type PastCompaction,
  type PastIteration,
  type PastResult,
  unknownIteration,
} from "./past.ts";
import { readPastOfLog } from "./past-of-log.ts";
import { readRecords } from "../../journal/inspect/inspect-journal.ts";
import { rebuildRun } from "../../journal/inspect/rebuild-run.ts";

interface ReplayOptions {
  readonly from: number;
  /** Keeps the records of the new run. Default: a journal in memory. */
  readonly base: Journal | undefined;
  /** True if the loop detection of the new run adds warnings. The replay then leaves out the warnings of the first run. */
  readonly warnsOfLoops: boolean;
}

const passed: HookAnswer = { kind: "continue" };
const accepted: OutputAnswer = { kind: "valid", value: null };

function replayPast(past: Past, { from, base = memoryJournal(), warnsOfLoops }: ReplayOptions): Journal {
  const known = toSteps(past);
  const added = new Map<number, readonly UserMessage[]>();
  for (const [iteration, messages] of past.added)
    added.set(iteration, warnsOfLoops ? messages.filter((message) => !isLoopWarning(message)) : messages);
  let isOpen = false;

  const takeAdded = (iteration: number): readonly InboxMessage[] => {
    const messages = added.get(iteration) ?? [];
    added.delete(iteration);
    return messages.map((message) => ({ verb: "steer", message }));
  };
  /**
   * Returns a step that reads the inbox of the new run, and adds messages of the first run to the answer. Reading the inbox has
   * no side effects.
   */
  const readInbox = (step: Step<InboxAnswer>, add: (answer: InboxAnswer) => InboxAnswer): Step<InboxAnswer> => ({
    ...step,
    run: (call) => whenReady(step.run(call), add),
  });
  const withMessages = (answer: InboxAnswer, messages: readonly InboxMessage[]): InboxAnswer =>
    messages.length === 0 ? answer : { ...answer, messages: [...messages, ...(answer.messages ?? [])] };

  const replay = (step: Step<unknown>, iteration: number): Step<unknown> => {
    const { key, kind } = step;
    if (known.has(key)) return { ...step, run: () => known.get(key) };
    if (key.endsWith("/output")) return { ...step, run: () => accepted };
    if (kind === "hook") return { ...step, run: () => passed };
    if (kind === "results") return { ...step, run: () => [] };
    if (kind === "inbox" && key.includes("/inbox-end"))
      return readInbox(step as Step<InboxAnswer>, (answer) => {
        const messages = takeAdded(iteration + 1);
        if (messages.length > 0) return { ...withMessages(answer, messages), goesOn: true };
        if (isWanted(answer)) return answer;
        throw refuseRerun(from, `with these options, the run ends at iteration ${iteration} (${answer.ending?.reason.kind})`);
      });
    // Repeated iterations take no active time.
    if (kind === "inbox" && iteration < from) {
      const compact = past.compactions.get(iteration)?.cause;
      const answer = { now: 0, token: "rerun", ...(compact !== undefined && { compact }) };
      return { ...step, run: () => withMessages(answer, takeAdded(iteration)) };
    }
    if (kind === "inbox") return readInbox(step as Step<InboxAnswer>, (answer) => withMessages(answer, takeAdded(iteration)));
    throw refuseRerun(from, `with these options, the run needs the step ${key}, which the first run did not have`);
  };
  const toStep = <T>(step: Step<T>): Step<T> => {
    const iteration = iterationOf(step.key);
    isOpen ||= step.kind === "model" && iteration === from;
    const isPast = iteration >= 0 && (iteration < from || (iteration === from && step.kind === "inbox"));
    return isOpen || !isPast ? step : (replay(step, iteration) as Step<T>);
  };
  return {
    ...wrapJournal(base),
    step: (step) => base.step(toStep(step)),
    all: (steps) => {
      const wanted = steps.map(toStep);
      return isOpen ? base.all(wanted) : whenAllReady(wanted.map((step) => base.step(step)));
    },
  };
}

/** True if the caller ends or drains the new run during the replay. */
function isWanted({ ended, ending }: InboxAnswer): boolean {
  return ended !== undefined || ending?.status === "suspended" || ending?.status === "follow-up-interrupt";
}

function toSteps({ iterations, compactions }: Past): ReadonlyMap<string, unknown> {
  const steps = new Map<string, unknown>();
  for (const [iteration, { answer }] of compactions) steps.set(stepKey({ iteration, retry: 0 }, "compaction"), answer);
  for (const [iteration, { streams, results }] of iterations.entries()) {
    const place = { iteration, retry: 0 };
    for (const [continuation, stream] of streams.entries()) steps.set(streamKey({ ...place, continuation }, "model"), stream);
    if (results.length > 0) steps.set(`i${iteration}/results`, results);
  }
  return steps;
}

interface DraftIteration {
  streams: StreamResult[];
  settled: readonly SettledCall[] | undefined;
  /** True if the iteration was retried after its calls, so that it has two messages. */
  isSplit: boolean;
}

/**
 * Reads the iterations before `from` from a journal. Rejects like `inspectJournal`, and with LoopError "rerun-refused" if the run
 * cannot be repeated up to there.
 */
async function readPastOfJournal(source: string | Journal, from: number): Promise<Past> {
  const { records, record } = await readRecords(source);
  if (record === undefined) throw refuseRerun(from, "its journal has no run yet");
  const collector = new PastCollector(from);
  const { state } = rebuildRun(records, record, (step, before) => collector.take(step, before));
  const { transcript, drafts } = collector;
  if (transcript === undefined) {
    const last = state.iteration;
    throw refuseRerun(from, last < 0 ? "it has no iterations yet" : `it has iterations 0 to ${last}. Choose one of these`);
  }
  const iterations = Array.from({ length: from }, (_, number) => toPast(drafts.get(number), number, from));
  const next = collector.next ?? state.streamResults.at(-1);
  return {
    runId: record.runId ?? "",
    iterations,
    compactions: collector.compactions,
    messages: record.messages,
    contextItems: [],
    added: findAdded(iterations, transcript, record.messages.length),
    tools: (next?.visibleTools ?? Object.keys(record.tools)).flatMap((name) => {
      const shown = Object.hasOwn(record.tools, name) ? record.tools[name] : undefined;
      return shown === undefined ? [] : [{ name, description: shown.description, inputSchema: shown.inputSchema }];
    }),
    limits: {},
    provider: next?.provider ?? "",
    model: next?.model ?? "",
  };
}

/** Collects the streams and the settled calls before iteration `from`, and the transcript at its start. */
class PastCollector {
  readonly drafts: Map<number, DraftIteration> = new Map();
  readonly compactions: Map<number, PastCompaction> = new Map();
  transcript: readonly Message[] | undefined;
  next: StreamResult | undefined;
  readonly #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  take(step: StepResult, state: LoopState): void {
    if (this.transcript !== undefined) return;
    if (step.kind === "model") this.#takeStream(step.result, state);
    if (step.kind === "compaction" && state.iteration < this.#from)
      this.compactions.set(state.iteration, { cause: state.lastInbox?.compact ?? "due", answer: step.answer });
    if (step.kind !== "batch") return;
    const draft = this.drafts.get(state.iteration);
    if (draft !== undefined) draft.settled = step.settled;
  }

  #takeStream(result: StreamResult, { iteration, continuation, messages }: LoopState): void {
    const before = this.drafts.get(iteration);
    if (iteration >= this.#from) {
      this.transcript = [...messages];
      this.next = result;
    } else if (continuation === 0) {
      const hasCalls = before?.settled !== undefined && before.settled.length > 0;
      this.drafts.set(iteration, { streams: [result], settled: undefined, isSplit: before?.isSplit === true || hasCalls });
    } else before?.streams.push(result);
  }
}

function toPast(draft: DraftIteration | undefined, iteration: number, from: number): PastIteration {
  if (draft === undefined || draft.isSplit)
    throw unknownIteration(from, { iteration, what: `iteration ${iteration} was continued after its calls` });
  const { streams, settled = [] } = draft;
  const outcomes = settled.map(({ outcome }) => outcome);
  const last = streams.length - 1;
  return {
    results: settled.flatMap(toPastResult),
    streams: streams.map((stream, index) => {
      // These fields are about the journal steps of the calls. The outcomes in `eagerOutcomes` replace them.
      const { refusals: _, lateChecks: __, basis: ___, eagerOutcomes: ____, ...rest } = stream;
      return index === last && outcomes.length > 0 ? { ...rest, eagerOutcomes: outcomes } : rest;
    }),
  };
}

function toPastResult({ textForModel, extraction }: SettledCall, index: number): readonly PastResult[] {
  return textForModel === undefined && extraction === undefined ? [] : [{ index, textForModel, extraction, changes: [] }];
}

/** The options of the new run. The messages and the past come from the first run. */
export type RerunOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<"messages" | "decisions" | "resume", Output, T>;

/** The iteration at which the new run stops repeating the first run. */
export interface RerunPoint {
  /** The first iteration that runs again, counted from 0. */
  readonly iteration: number;
  /** The run, if the log has several outermost runs. Default: the last one that has this iteration. */
  readonly runId?: string | undefined;
}

const pointChecks: Checks<RerunPoint> = {
  iteration: [
    "the number of an iteration, counted from 0",
    (value) => Number.isInteger(value) && Number(value) >= 0,
    undefined,
    true,
  ],
  runId: ["the id of a run in the log", (value) => typeof value === "string"],
};

/**
 * Returns loop options for a run that repeats another run up to an iteration, and then goes on live with these options: another
 * provider, model, system text or tool set. `source` is the path of a run log or of a journal file, a log that was read, or a
 * journal.
 *
 * The repeated iterations keep their numbers, outputs, calls and results, and the user messages that were added between them. No
 * request is sent and no tool, hook, approval or nested run is called before the iteration. In the new log, nested runs of
 * repeated calls are missing. The policies `results` and `output` apply only from the iteration on. The new run has its own
 * `runId`. Unless you set them, two options come from the log: the limits that are lower than the defaults, and the context items
 * of the requests.
 *
 * A log holds results as the model read them. If a log was redacted, the new model reads the redacted texts. A journal holds the
 * whole outcomes, so prefer it for runs with context restarts.
 *
 * Rejects with LoopError "rerun-refused" if the run does not have the iteration, or cannot be repeated up to there; the error
 * names the iteration that can be chosen instead. Rejects with "invalid-option" if `at` is invalid, or if the options have the
 * `runId` of the first run. Also rejects like `readRunLog` or `inspectJournal`. If the options would end the new run before the
 * iteration, for example by a lower limit, the new run rejects with "rerun-refused".
 *
 * @example
 * const options = await rerunFrom("run.jsonl", { iteration: 3 }, { provider: other, tools, system: "Be brief." });
 * const result = await runToolLoop(withRunLog(options, { to: "rerun.jsonl" }));
 */
export async function rerunFrom<Output = unknown, T extends Tool = Tool>(
  source: string | RunLog | Journal,
  at: RerunPoint,
  options: RerunOptions<Output, T>,
): Promise<LoopOptions<Output, T>> {
  return continuePast(await readPast(source, at), at.iteration, options);
}

export async function readPast(source: string | RunLog | Journal, at: RerunPoint): Promise<Past> {
  checkFields("at", isRecord(at) ? at : {}, pointChecks);
  const { iteration } = at;
  if (typeof source === "string") {
    if ((await findStart(source)) === "journal") return readPastOfJournal(source, iteration);
    return readPastOfLog(chooseRun(await readRunLog(source), at), iteration);
  }
  if (isRecord(source) && "runs" in source) return readPastOfLog(chooseRun(source as unknown as RunLog, at), iteration);
  return readPastOfJournal(source as Journal, iteration);
}

function chooseRun({ runs }: RunLog, { iteration, runId }: RerunPoint): LoggedRun {
  const isMeant = (run: LoggedRun): boolean =>
    runId === undefined ? run.iterations.some((one) => one.iteration === iteration) : run.runId === runId;
  const found = runs.findLast(isMeant) ?? (runId === undefined ? runs.at(-1) : undefined);
  if (found !== undefined) return found;
  const ids = runs.map((run) => run.runId).join(", ");
  throw refuseRerun(
    iteration,
    runs.length === 0 ? "the log has no run yet" : `the log has no run "${runId}". Choose one of: ${ids}`,
  );
}

/** Returns the options of the new run. Throws like `rerunFrom`. */
export function continuePast<Output, T extends Tool>(
  past: Past,
  from: number,
  options: RerunOptions<Output, T>,
): LoopOptions<Output, T> {
  const { runId, policies = {}, contextItems = past.contextItems } = options;
  if (runId !== undefined && runId === past.runId)
    throw new LoopError("invalid-option", {
      option: "runId",
      expected: "another id than that of the first run",
      received: "its id",
    });
  const { loopDetection } = policies;
  const hasResults = policies.results !== undefined || past.iterations.some(({ results }) => results.length > 0);
  const again = {
    ...options,
    messages: past.messages,
    contextItems,
    limits: limitsFor(past, from, options),
    policies: hasResults
      ? { ...policies, results: processLater(policies.results as ResultProcessor | undefined, from) }
      : policies,
    journal: replayPast(past, {
      from,
      base: options.journal,
      warnsOfLoops: isRecord(loopDetection) && loopDetection["action"] === "inject-warning",
    }),
  };
  // The cast is safe: `options` has all other options.
  return again as unknown as LoopOptions<Output, T>;
}

/**
 * Returns the limits of the new run. A limit from the log is used only if it is lower than the default, because the log may have
 * been edited. If the caller does not set `maxIterations`, this limit is raised until iteration `from` can run.
 */
function limitsFor({ limits: logged }: Past, from: number, { limits }: Pick<LoopOptions, "limits">): LoopOptions["limits"] {
  const known = Object.entries(limitRules).flatMap(([name, { fallback }]) => {
    const value = logged[name];
    return typeof value === "number" && value < fallback ? [[name, value] as const] : [];
  });
  const merged: LoopOptions["limits"] = { ...Object.fromEntries(known), ...limits };
  const { maxIterations = limitRules.maxIterations.fallback } = merged;
  if (maxIterations > from) return merged;
  if (limits?.maxIterations !== undefined)
    throw refuseRerun(from, `"limits.maxIterations" is ${maxIterations}, so the run would end before. Raise the limit`);
  return { ...merged, maxIterations: from + 1 };
}

const repeated = /* @__PURE__ */ processResults({}) as ResultProcessor;

/** Repeats the recorded results before iteration `from`, and processes the results of later iterations. */
function processLater(policy: ResultProcessor | undefined, from: number): ResultProcessor {
  return {
    kind: "result-processing",
    toolName: policy?.toolName,
    process: (run, settled) =>
      run.state.iteration < from ? repeated.process(run, settled) : (policy?.process(run, settled) ?? settled),
  };
}
