// Runs one trial: its world, its run, its checks and its files.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, type LoopEvent, type Middleware, memoryJournal } from "../core/index.ts";
import { type Hooks, isRecord } from "../core/kit.ts";
import { runLog } from "../inspect/log/middleware.ts";
import { fileJournal } from "../journal/file-journal.ts";
import { isSpending, type SpendingEvent } from "../shared/event-table.ts";
import { addCost } from "../shared/count-usage.ts";
import { isThenable } from "../shared/guards.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { onAbort } from "../shared/signals.ts";
import { CancelScope, signalOf } from "../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../shared/cancellation/deadline.ts";
import { traceTrial } from "./stray-errors.ts";
import { readChecks } from "./read-checks.ts";
import { playTape, recordTape, type Tape } from "./tape.ts";
import type { EvalCase, Evaluation, Trial, TrialReport } from "./evaluation.ts";

/** A trial that is to run. */
export interface PlannedTrial<Case extends EvalCase> {
  readonly item: Case;
  readonly number: number;
  /** The folder for its files. Undefined: no files. */
  readonly directory: string | undefined;
  /** A kept trial whose recording is played. */
  readonly replay?: Replay | undefined;
}

/** How a kept trial is played again. */
export interface Replay {
  /** The folder of the kept trial. */
  readonly directory: string;
  /** "request": each request must be as it was. "order": requests may have changed. Default "request". */
  readonly match?: "request" | "order" | undefined;
  /** From this iteration of an outermost run on, requests go to the model. Default: none does. */
  readonly from?: number | undefined;
}

export interface TrialPorts {
  readonly clock: Clock;
  readonly trialMs: number;
  readonly cleanupMs: number;
  /** Aborted if the evaluation is stopped. */
  readonly signal: AbortSignal;
  /** Called as soon as a run of the trial has spent something. */
  onSpent(spent: Spent): void;
}

export interface Spent {
  readonly tokens: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Undefined if it is unknown. */
  readonly costUSD: number | undefined;
}

export const trialFiles = { log: "log.jsonl", cassette: "model.jsonl", report: "trial.json", page: "page.html" } as const;

/** The codes of errors that say nothing about the agent: the service could not be used. */
const unavailable: ReadonlySet<string> = new Set(["auth", "rate-limit", "overloaded", "network", "server"]);

/** Notes what the runs of one trial have done. */
class Watch {
  readonly endings: string[] = [];
  /** The number of runs for which the trial has made options. */
  prepared = 0;
  /** Set if the last outermost run could not use its service. */
  outage: string | undefined;
  /** The largest number of an iteration of an outermost run so far. */
  iteration = 0;
  tokens = 0;
  costUSD: number | undefined = 0;
  readonly #onSpent: TrialPorts["onSpent"];
  /** Earlier iterations are played from a recording, so they cost nothing. */
  readonly #liveFrom: number;

  constructor(onSpent: TrialPorts["onSpent"], replay: Replay | undefined) {
    this.#onSpent = onSpent;
    this.#liveFrom = replay === undefined ? 0 : (replay.from ?? Number.POSITIVE_INFINITY);
  }

  get isLive(): boolean {
    return this.iteration >= this.#liveFrom;
  }

  readonly take = (event: LoopEvent): void => {
    if (event.path === undefined) this.#follow(event);
    if (this.isLive && isSpending(event) && event.replayed !== true) this.#count(event);
  };

  #follow(event: LoopEvent): void {
    if (event.type === "iteration-start") this.iteration = Math.max(this.iteration, event.iteration);
    if (event.type !== "run-end") return;
    const { reason } = event;
    this.endings.push(reason.kind);
    this.outage = reason.kind === "provider-error" && unavailable.has(reason.error.code) ? reason.error.message : undefined;
  }

  #count({ usage, costUSD }: SpendingEvent): void {
    const { totalTokens: tokens = 0, inputTokens = 0, cachedInputTokens: cachedTokens = 0 } = usage ?? {};
    const spent = { tokens, inputTokens, cachedTokens, costUSD };
    this.tokens += tokens;
    this.costUSD = addCost(this.costUSD, costUSD);
    this.#onSpent(spent);
  }
}

/** Runs the trial. Never rejects, except with errors of the disk. Resolves to undefined if the evaluation was stopped meanwhile. */
export async function runTrial<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  planned: PlannedTrial<Case>,
  ports: TrialPorts,
): Promise<TrialReport | undefined> {
  const { item, number, directory } = planned;
  const { clock } = ports;
  if (directory !== undefined) await makeEmpty(directory);
  const watch = new Watch(ports.onSpent, planned.replay);
  const startedAt = clock.now();
  const judged = await judgeInTime(evaluation, planned, { ...ports, watch });
  if (judged === undefined) {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    return undefined;
  }
  const report: TrialReport = {
    id: idOf(planned),
    case: item.id,
    number,
    ...statusOf(judged, watch.outage),
    checks: judged.checks,
    endings: watch.endings,
    tokens: watch.tokens,
    costUSD: watch.costUSD,
    durationMs: Math.round(clock.now() - startedAt),
    ...(directory !== undefined && { directory }),
  };
  if (directory !== undefined) await writeFile(join(directory, trialFiles.report), `${JSON.stringify(report, undefined, 2)}\n`);
  return report;
}

function idOf({ item, number }: PlannedTrial<EvalCase>): string {
  return `${item.id}/${number}`;
}

/** Resolves to undefined if the evaluation was stopped meanwhile. */
async function judgeInTime<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  planned: PlannedTrial<Case>,
  { clock, trialMs, cleanupMs, signal, watch }: TrialPorts & { readonly watch: Watch },
): Promise<Judged | undefined> {
  const { item, number, directory, replay } = planned;
  const id = idOf(planned);
  const scope = new CancelScope();
  const stop = (): void => scope.cancel({ kind: "stop" });
  const releases = [onAbort(signal, stop)];
  if (signal.aborted) stop();
  scope.startWallClock(trialMs, clock.now(), clock);
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY, toolCleanupMs: cleanupMs }, { clock, scope });
  let stray: string | undefined;
  const fail = (error: unknown): boolean => {
    if (deadline.isOver) return false;
    stray ??= `Nobody has caught the error "${toPlainError(error).message}". Await each promise, or handle its error.`;
    scope.cancel({ kind: "kill" });
    return true;
  };
  const trial = {
    id,
    number,
    case: item,
    signal: signalOf(scope),
    isReplay: replay !== undefined,
    model: evaluation.model,
    options: wrapOptions({ id, directory, scope, releases, tape: makeTape(planned, watch), watch }),
  };
  const raced = await traceTrial({ id, fail }, () => deadline.race(judge(evaluation, item, trial)));
  deadline.end();
  const { cause } = scope;
  scope.release();
  for (const release of releases) release();
  if (stray !== undefined) return { checks: [], error: stray };
  if (cause !== undefined && cause.kind !== "wall-clock") return undefined;
  if (raced.kind === "value") return withMistakes(raced.value, watch);
  return { checks: [], error: `The trial took longer than ${trialMs} ms.` };
}

/** The likeliest mistakes in `run` would make a trial pass that nobody has judged, or cost money that nobody counts. */
function withMistakes({ result, ...judged }: Judged, { prepared, endings }: Watch): Judged {
  if (judged.error !== undefined) return judged;
  if (prepared > endings.length)
    return { ...judged, error: "A run has not ended yet. Await it in the function run, and return its result." };
  if (endings.length > 0 || !isRecord(result) || !isRecord(result["reason"]) || typeof result["runId"] !== "string")
    return judged;
  const error = `The run ${result["runId"]} does not belong to the trial, so its cost is not counted, and it cannot be replayed. Pass its options through trial.options.`;
  return { ...judged, error };
}

async function makeEmpty(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
}

/** A failed trial says nothing about the agent if its service could not be used. */
function statusOf(judged: Judged, outage: string | undefined): Pick<TrialReport, "status" | "error"> {
  const hasFailed = judged.checks.some(({ pass }) => !pass);
  const error = judged.error ?? (hasFailed ? outage : undefined);
  if (error !== undefined) return { status: "error", error };
  return { status: hasFailed ? "failed" : "passed" };
}

interface Judged {
  /** The value that the checks got. */
  readonly result?: unknown;
  readonly checks: TrialReport["checks"];
  readonly error?: string | undefined;
}

/** Never rejects. */
async function judge<Case extends EvalCase, Result, World>(
  { setup, run, check, teardown }: Evaluation<Case, Result, World>,
  item: Case,
  facts: Omit<Trial<World, Case>, "world">,
): Promise<Judged> {
  let trial: Trial<World, Case> | undefined;
  let judged: Judged;
  try {
    const made = { ...facts, world: (await setup?.(item)) as World };
    trial = made;
    const result = await run(item, made);
    const ended = (isRecord(result) && isThenable(result["result"]) ? await result["result"] : result) as never;
    judged = { result: ended, checks: await readChecks(() => check(ended, made.world, made)) };
  } catch (error) {
    judged = { checks: [], error: toPlainError(error).message };
  }
  try {
    if (trial !== undefined) await teardown?.(trial.world);
  } catch (error) {
    judged = { ...judged, error: judged.error ?? `teardown failed: ${toPlainError(error).message}` };
  }
  return judged;
}

function makeTape({ directory, replay }: Pick<PlannedTrial<EvalCase>, "directory" | "replay">, watch: Watch): Tape {
  if (replay !== undefined) {
    const { from, match = from === undefined ? "request" : "order" } = replay;
    return playTape(join(replay.directory, trialFiles.cassette), match, () => watch.isLive);
  }
  return directory === undefined ? (provider) => provider : recordTape(join(directory, trialFiles.cassette));
}

interface Wrapping {
  readonly id: string;
  readonly directory: string | undefined;
  readonly scope: CancelScope;
  readonly releases: (() => void)[];
  readonly tape: Tape;
  readonly watch: Watch;
}

function wrapOptions({ id, directory, scope, releases, tape, watch }: Wrapping): Trial["options"] {
  let runs = 0;
  const taped: Hooks = { provider: tape, nest: () => taped };
  const observer: Middleware = { name: "trial", pure: true, ...taped, on: watch.take };
  const log = directory === undefined ? [] : [runLog({ to: join(directory, trialFiles.log) })];
  return (options) => {
    runs += 1;
    watch.prepared = runs;
    const { runId = runs === 1 ? id : `${id}/${runs}`, middleware = [] } = options;
    const journal =
      options.journal ??
      (directory === undefined ? memoryJournal() : fileJournal(join(directory, `journal-${encodeURIComponent(runId)}.jsonl`)));
    const inner = new CancelScope(scope);
    inner.follow(options.signal);
    releases.push(() => inner.release());
    return { ...options, runId, journal, signal: signalOf(inner), middleware: [observer, ...log, ...middleware] };
  };
}
