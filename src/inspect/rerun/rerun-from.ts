// Runs an iteration again with different options. Earlier iterations are replayed from a journal or a log, so nothing in them is executed
// again.

import {
  type Answer,
  checkFields,
  type Checks,
  type Hooks,
  isRecord,
  limitRules,
  type State,
  wrapJournal,
} from "../../core/kit.ts";
import type { CompactedMessages } from "../../core/types/middleware-options.ts";
import type { EntryOptions } from "../../core/types/loop-options.ts";
import {
  contextRestarts,
  type Journal,
  LoopError,
  type LoopOptions,
  memoryJournal,
  type Message,
  type Middleware,
  type Tool,
} from "../../core/index.ts";
import { toCompacted } from "../../shared/transcript.ts";
import { readJournalRun, type RecordedPlace, type RecordedRun } from "../../journal/inspect/inspect-journal.ts";
import { findStart } from "../log/log-file.ts";
import { readRunLog } from "../log/read-run-log.ts";
import type { LoggedRun, RunLog } from "../../shared/run-log.ts";
import {
  findAdded,
  isLoopWarning,
  type Past,
  type PastCompaction,
  type PastIteration,
  refuseRerun,
  unknownIteration,
} from "./past.ts";
import { readPastOfLog } from "./past-of-log.ts";

type EndedCall = State["lastBatch"][number];
type Look = NonNullable<State["look"]>;

interface ReplayOptions {
  readonly from: number;
  /** The journal that keeps the new run's records. Default: a journal in memory. */
  readonly base: Journal | undefined;
  /** True if the new run's loop detection adds warnings. The replay then omits the first run's warnings. */
  readonly warnsOfLoops: boolean;
}

/** Recorded answers that replace the caller's functions in a repeated iteration. Step keys end with the keys listed here. */
const neutral: { readonly [step: string]: unknown } = {
  "@on-iteration/said": null,
  "@prepare-iteration/plan": {},
  "@stop-when/stop": null,
  "@structured-output/output": { value: null },
  "@compaction/due": undefined,
  "@guardrails/input": [],
  "@guardrails/check": {},
  "@guardrails/check of edits": {},
};

/** Steps that call none of the caller's functions. */
const harmless: ReadonlySet<string> = new Set(["@handoffs/agent", "@mask-results/force", "@compaction/earlier"]);

/** Returns a journal with the iterations before `from`. The new run adds its own records to it. */
function replayPast(past: Past, { from, base = memoryJournal(), warnsOfLoops }: ReplayOptions): Journal {
  const known = toSteps(past);
  const lookAgain = (look: Look, iteration: number): Look => {
    const added = past.added.get(iteration + 1) ?? [];
    const messages = warnsOfLoops ? added.filter((message) => !isLoopWarning(message)) : added;
    const { ending, isExhausted: _, ...rest } = look;
    const steered = [...messages.map((message) => ({ verb: "steer", message }) as const), ...(look.messages ?? [])];
    const more: Look = { ...rest, ...(steered.length > 0 && { messages: steered }) };
    if (ending === undefined || (messages.length > 0 && isAnswer(ending))) return more;
    if (isWanted(ending)) return look;
    throw refuseRerun(from, `with these options, the run ends at iteration ${iteration} (${ending.reason.kind})`);
  };
  return {
    ...wrapJournal(base),
    step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
      const { iteration, step, name } = readKey(key);
      if (iteration < 0 || iteration >= from) return base.step(key, body);
      if (known.has(key)) return base.step(key, () => known.get(key) as T);
      if (/^(?:answered(?:~\d+)?|next|again)(?:#\d+)?$/.test(step))
        return base.step<unknown>(key, async () => lookAgain((await body()) as Look, iteration)) as PromiseLike<T>;
      if (Object.hasOwn(neutral, name)) return base.step(key, () => ({ value: neutral[name] }) as T);
      if (step.startsWith("request") && !step.endsWith("/ended") && !harmless.has(name))
        throw refuseRerun(from, `with these options, the run needs the step ${key}, which the first run did not have`);
      return base.step(key, body);
    },
  };
}

interface StepKey {
  /** The step's iteration. -1 for a step before the first iteration. */
  readonly iteration: number;
  readonly step: string;
  /** The names of the middleware and its step. Empty for one of the loop's own steps. */
  readonly name: string;
}

function readKey(key: string): StepKey {
  const [, number = "-1", step = ""] = /^i(\d+)\/(.*)$/s.exec(key) ?? [];
  const [name = ""] = /@[^/]+\/[^/]+$/.exec(step) ?? [];
  return { iteration: Number(number), step, name };
}

type LookEnding = NonNullable<Look["ending"]>;

/** True if the caller itself ended the new run during the replay: by stopping, suspending or interrupting it. */
function isWanted({ status }: LookEnding): boolean {
  return status === "suspended" || status === "stopped-by-user" || status === "follow-up-interrupt";
}

function isAnswer({ status, reason }: LookEnding): boolean {
  return status === "completed" || status === "empty-response" || reason.kind === "invalid-output";
}

function toSteps({ iterations, compactions }: Past): ReadonlyMap<string, unknown> {
  const steps = new Map<string, unknown>();
  for (const [iteration, { cause, answer }] of compactions) {
    const step = `i${iteration}/request/@compaction`;
    steps.set(`${step}/due`, cause === "due" ? { value: true } : {});
    steps.set(`${step}/summary`, { value: answer });
  }
  for (const [iteration, streams] of iterations.entries())
    for (const [index, stream] of streams.entries())
      steps.set(`i${iteration}/request${index === 0 ? "" : `~${index + 1}`}/model`, stream);
  return steps;
}

/** Repeats the first run's compactions, for a new run without its own compaction. */
function repeatCompactions(compactions: Past["compactions"]): Middleware {
  const begin = (): Hooks => {
    let compaction: CompactedMessages | undefined;
    return {
      request(request, next, { state }) {
        const answer = state.continuation === 0 ? compactions.get(state.iteration)?.answer : undefined;
        if (answer?.kind === "compacted") ({ compaction } = answer);
        const { messages } = request;
        return next(compaction === undefined ? request : { ...request, messages: toCompacted(messages, compaction) });
      },
      result: () => ({ compaction }),
    };
  };
  return { name: "past-compactions", pure: true, begin };
}

interface DraftIteration {
  readonly streams: Answer[];
  settled: readonly EndedCall[];
  /** True if the iteration was retried after its calls, so it has two messages. */
  readonly isSplit: boolean;
}

/**
 * Reads the iterations before `from` from a journal. Rejects like `inspectJournal`, and with LoopError "rerun-refused" if the run
 * cannot be repeated up to that point.
 */
async function readPastOfJournal(source: string | Journal, from: number): Promise<Past> {
  const collector = new PastCollector(from);
  const run = await readJournalRun(source, (place) => collector.watch(place));
  if (run === undefined) throw refuseRerun(from, "its journal has no run yet");
  const { first, state } = run;
  const { transcript, drafts } = collector;
  if (transcript === undefined) {
    const last = state.answers.length === 0 ? -1 : Math.max(...drafts.keys());
    throw refuseRerun(from, last < 0 ? "it has no iterations yet" : `it has iterations 0 to ${last}. Choose one of these`);
  }
  const iterations = Array.from({ length: from }, (_, number) => toPast(drafts.get(number), number, from));
  const next = collector.next ?? state.answers.at(-1);
  return {
    runId: first.runId ?? "",
    iterations,
    compactions: collector.compactions,
    messages: first.messages,
    contextItems: [],
    added: findAdded(iterations, transcript, first.messages.length),
    tools: toolsOf(first, next),
    limits: {},
    provider: next?.provider ?? "",
    model: next?.model ?? "",
  };
}

/** Returns the tools that were shown to the model. */
function toolsOf({ tools: first }: RecordedRun["first"], next: Answer | undefined): Past["tools"] {
  const tools = { ...first, ...next?.shownTools };
  return (next?.visibleTools ?? Object.keys(tools)).flatMap((name) => {
    const shown = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return shown === undefined ? [] : [{ name, description: shown.description, inputSchema: shown.inputSchema }];
  });
}

/** Collects the answers and calls before iteration `from`, and the transcript at its start. */
class PastCollector {
  readonly drafts: Map<number, DraftIteration> = new Map();
  readonly compactions: Map<number, PastCompaction> = new Map();
  transcript: readonly Message[] | undefined;
  next: Answer | undefined;
  readonly #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  watch({ outer, records, prefix }: RecordedPlace): Middleware {
    const name = "past";
    if (outer !== undefined) return { name, pure: true };
    let state: State | undefined;
    return {
      name,
      pure: true,
      request: async (draft, next, at) => {
        state = at.state;
        const answer = await next(draft);
        if (state.continuation === 0)
          await this.#takeCompaction(records, `${prefix}i${state.iteration}/request`, state.iteration);
        this.#takeAnswer(answer, state);
        return answer;
      },
      on: ({ type, path }) => {
        const draft = type === "iteration-end" && path === undefined && state && this.drafts.get(state.iteration);
        if (draft && state?.phase === "calls") draft.settled = state.lastBatch;
      },
    };
  }

  async #takeCompaction({ read }: RecordedPlace["records"], place: string, iteration: number): Promise<void> {
    if (iteration >= this.#from) return;
    const summary = await read<{ readonly value?: PastCompaction["answer"] }>(`${place}/@compaction/summary`);
    if (summary?.value === undefined) return;
    const due = await read<{ readonly value?: unknown }>(`${place}/@compaction/due`);
    this.compactions.set(iteration, { cause: due?.value === true ? "due" : "forced", answer: summary.value });
  }

  #takeAnswer(answer: Answer, { iteration, continuation, messages }: State): void {
    if (this.transcript !== undefined) return;
    const before = this.drafts.get(iteration);
    if (continuation === 0) {
      const isSplit = before?.isSplit === true || (before !== undefined && before.settled.length > 0);
      this.drafts.set(iteration, { streams: [answer], settled: [], isSplit });
    } else before?.streams.push(answer);
    if (iteration < this.#from) return;
    this.transcript = [...messages];
    this.next = answer;
  }
}

function toPast(draft: DraftIteration | undefined, iteration: number, from: number): PastIteration {
  if (draft === undefined || draft.isSplit)
    throw unknownIteration(from, { iteration, what: `iteration ${iteration} was continued after its calls` });
  const { streams, settled } = draft;
  const last = streams.length - 1;
  return streams.map((stream, index) => {
    // Stores all outcomes in the last stream, as refusals, so that the replay does not run a step for any call.
    const { refusals: _, eagerOutcomes: __, added: ___, ...rest } = stream;
    return index === last && settled.length > 0 ? { ...rest, refusals: settled.map(({ outcome }) => outcome) } : rest;
  });
}

/** The options for the new run. Its messages and repeated iterations come from the first run. */
export type RerunOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<"messages" | "answers" | "resume", Output, T>;

/** The iteration at which the new run stops repeating the first run. */
export interface RerunPoint {
  /** The first iteration that runs again, counted from 0. */
  readonly iteration: number;
  /** The id of the run to repeat, if the log has several outermost runs. Default: the last one that has this iteration. */
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
 * Returns loop options for a run that repeats another run up to an iteration, and then continues live with these options: a
 * different provider, model, system text or tool set. `source` is the path of a run log or a journal file, a log that was read, or a
 * journal.
 *
 * The repeated iterations keep their numbers, outputs, calls and results, and the user messages that were added between them. No
 * request is sent and no tool, hook, approval or nested run is called before the iteration. In the new log, nested runs of
 * repeated calls are missing. `processResults` and `structuredOutput` apply only from that iteration onward. The new run has its own
 * `runId`. Unless you set them, two options come from the log: the limits that are lower than the defaults, and the context items
 * from the requests.
 *
 * A log contains results as the model read them. If a log was redacted, the new model reads the redacted text. A journal contains the
 * complete outcomes, so prefer it for runs with context restarts.
 *
 * Rejects with LoopError "rerun-refused" if the run does not have the iteration, or cannot be repeated up to that point; the error
 * names the iteration to choose instead. Rejects with "invalid-option" if `at` is invalid, or if the options have the
 * first run's `runId`. Also rejects like `readRunLog` or `inspectJournal`. If the options would end the new run before the
 * iteration, for example because of a lower limit, the new run rejects with "rerun-refused".
 *
 * @example
 * const options = await rerunFrom("run.jsonl", { iteration: 3 }, { provider: other, tools, system: "Be brief." });
 * const result = await runToolLoop({ ...options, middleware: [runLog({ to: "rerun.jsonl" })] });
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

/** Returns the new run's options. Throws like `rerunFrom`. */
export function continuePast<Output, T extends Tool>(
  past: Past,
  from: number,
  options: RerunOptions<Output, T>,
): LoopOptions<Output, T> {
  const { runId } = options;
  if (runId !== undefined && runId === past.runId)
    throw new LoopError("invalid-option", {
      option: "runId",
      expected: "a new id",
      received: "the id of the first run",
    });
  const { middleware = [] } = options;
  const again = {
    ...options,
    messages: past.messages,
    limits: limitsFor(past, from, options),
    // Passes an invalid list on unchanged, because the run refuses it with a clear error.
    middleware: Array.isArray(middleware) ? withPast(middleware, past) : middleware,
    journal: replayPast(past, {
      from,
      base: options.journal,
      warnsOfLoops: Array.isArray(middleware) && middleware.some(warnsOfLoops),
    }),
  };
  // Safe cast: `again` only replaces some options, and `options` contains all others.
  return again as unknown as LoopOptions<Output, T>;
}

/** Adds the first run's compactions and context items, unless the new run has its own middleware for them. */
function withPast(given: readonly unknown[], { compactions, contextItems }: Past): readonly unknown[] {
  const names = given.map((one) => (isRecord(one) ? one["name"] : undefined));
  const added = [
    ...(compactions.size > 0 && !names.includes("compaction") ? [repeatCompactions(compactions)] : []),
    ...(contextItems.length > 0 && !names.includes("context-restarts") ? [contextRestarts({ items: contextItems })] : []),
  ];
  // Inserts the middleware after masking and handoffs, because a summary covers the messages that remain after both.
  const place = 1 + names.findLastIndex((name) => name === "mask-results" || name === "handoffs");
  return given.toSpliced(place, 0, ...added);
}

function warnsOfLoops(middleware: unknown): boolean {
  return isRecord(middleware) && middleware["name"] === "detect-loops" && middleware["action"] === "inject-warning";
}

/**
 * Returns the new run's limits. A limit from the log is used only if it is lower than the default, because the log may have
 * been edited. If the caller does not set `maxIterations`, it is raised far enough for iteration `from` to run.
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
    throw refuseRerun(from, `"limits.maxIterations" is ${maxIterations}, so the run would end before that. Raise the limit`);
  return { ...merged, maxIterations: from + 1 };
}
