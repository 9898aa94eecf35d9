import {
  type EntryOptions,
  invalidOption,
  isRecord,
  type Journal,
  limitRules,
  LoopError,
  type LoopOptions,
  processResults,
  type ResultProcessor,
  type Tool,
} from "../../core/entry-kit.ts";
import { findStart } from "../log/log-file.ts";
import { readRunLog } from "../log/read-run-log.ts";
import type { LoggedRun, RunLog } from "../log/run-log.ts";
import { type Past, refuseRerun } from "./past.ts";
import { readPastOfJournal } from "./past-of-journal.ts";
import { readPastOfLog } from "./past-of-log.ts";
import { replayPast } from "./replay-past.ts";

/** The options of the new run. The messages and the past come from the first run. */
export type RerunOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<"messages" | "decisions" | "resume", Output, T>;

/** The iteration at which the new run stops repeating the first run. */
export interface RerunPoint {
  /** The first iteration that runs again, counted from 0. */
  readonly iteration: number;
  /** The run, if the log has several outermost runs. Default: the last one that has this iteration. */
  readonly runId?: string | undefined;
}

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
  const { iteration, runId } = isRecord(at) ? (at as RerunPoint) : { iteration: undefined, runId: undefined };
  if (typeof iteration !== "number" || !Number.isInteger(iteration) || iteration < 0)
    throw invalidOption("at.iteration", "the number of an iteration, counted from 0", iteration);
  if (runId !== undefined && typeof runId !== "string") throw invalidOption("at.runId", "the id of a run in the log", runId);
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
