// Runs one trial: sets up its world, such as a database, runs the case, checks the result and writes the trial's files.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type Clock,
  type EndReason,
  type LoopEvent,
  memoryJournal,
  type Middleware,
  type ModelRequest,
  type Provider,
  type ProviderError,
  toProviderError,
} from "../core/index.ts";
import { type Hooks, isRecord } from "../core/kit.ts";
import { countThings } from "../inspect/format.ts";
import { runLog } from "../inspect/log/middleware.ts";
import { fileJournal } from "../journal/file-journal.ts";
import { writeWhole } from "../journal/named-files.ts";
import { isSpending, type SpendingEvent } from "../shared/event-table.ts";
import { isThenable } from "../shared/guards.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { redactText } from "../shared/redact-secrets.ts";
import { userTextOf } from "../shared/transcript.ts";
import { followSignal, onAbort } from "../shared/signals.ts";
import { CancelScope, signalOf } from "../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../shared/cancellation/deadline.ts";
import { traceTrial } from "./stray-errors.ts";
import { readChecks } from "./read-checks.ts";
import { isJudgeError } from "./judge.ts";
import { addSpent, nothingSpent, type Spent } from "./spent.ts";
import { playTape, recordTape, type Tape, wrapAny } from "./tape.ts";
import { fileNameOf, type KeptTrial, trialFiles } from "./trial-files.ts";
import type { EvalCase, EvalChecks, EvalReplay, Evaluation, Trial, TrialReport } from "./evaluation.ts";

/** A trial that will run. */
export interface PlannedTrial<Case extends EvalCase> {
  readonly item: Case;
  readonly number: number;
  /** The folder for the trial's files. Undefined to write no files. */
  readonly directory: string | undefined;
  /** The kept trial whose recording is replayed. */
  readonly replay?: Replay | undefined;
}

/** How to replay a kept trial. */
export type Replay = Pick<EvalReplay, "from" | "match"> & Pick<KeptTrial, "directory" | "timeout">;

export interface TrialPorts {
  readonly clock: Clock;
  readonly trialMs: number;
  readonly cleanupMs: number;
  /** Aborted if the evaluation is stopped. */
  readonly signal: AbortSignal;
  /**
   * Called as soon as a run of the trial has spent something. `brokeOff` is true if the request failed or was stopped before the service
   * reported its usage, so its cost cannot be computed.
   */
  onSpent(spent: Spent, brokeOff: boolean): void;
}

/** Codes for errors that say nothing about the agent, because the service gave no answer. Other errors come from the model's answer. */
const unavailable: ReadonlySet<string> = new Set<ProviderError["code"]>([
  "auth",
  "bad-request",
  "finish-error",
  "network",
  "overloaded",
  "rate-limit",
  "server",
  "stream-ended-early",
]);

/** Why the service gave no answer. */
type Outage = Pick<ProviderError, "message" | "retryable">;

function outageOf(reason: EndReason): Outage | undefined {
  if (reason.kind === "provider-error") return unavailable.has(reason.error.code) ? reason.error : undefined;
  if (reason.kind !== "first-chunk" && reason.kind !== "stream-idle") return undefined;
  return { message: `The service sent nothing for ${reason.limitMs} ms (${reason.kind}).`, retryable: true };
}

/** Tracks what a trial's runs do. */
class Watch {
  readonly endings: string[] = [];
  /** The number of runs for which the trial has created options. */
  prepared = 0;
  /** Why the service gave no answer in the last outermost run. */
  outage: Outage | undefined;
  /** The first user message in the first request. */
  question: string | undefined;
  /** The error from a replay whose request is not in the recording. */
  missing: string | undefined;
  /** The highest iteration number that an outermost run has reached. */
  iteration = 0;
  spent = nothingSpent;
  /** Called if the recorded model was silent until its signal fired. */
  onSilence = (): void => {};
  readonly #onSpent: TrialPorts["onSpent"];
  /** The first iteration that is not replayed. Replayed iterations come from a recording and cost nothing. */
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
    this.endings.push(event.reason.kind);
    this.outage = outageOf(event.reason);
  }

  readonly onMissing = (difference: string): void => {
    this.missing ??= `The replay cannot continue: the request of iteration ${this.iteration} differs from the recorded one, for example because a prompt, a tool or the criterion of a judge has changed. Evaluate the case again, or continue with the model with --from i${this.iteration} (the option replay.from). ${difference}`;
  };

  /** Wraps a provider, and notes the question that it receives. */
  readonly listen = (provider: Provider): Provider =>
    wrapAny(provider, (request, call) => {
      this.question ??= questionOf(request);
      return provider.stream(request, call);
    });

  #count(event: SpendingEvent): void {
    const { usage, costUSD } = event;
    const { totalTokens: tokens = 0, inputTokens = 0, cachedInputTokens: cachedTokens = 0 } = usage ?? {};
    const brokeOff = usage === undefined && event.type === "iteration-end" && event.status !== "completed";
    const spent = { tokens, inputTokens, cachedTokens, costUSD, knownCostUSD: costUSD ?? 0 };
    this.spent = addSpent(this.spent, spent);
    this.#onSpent(spent, brokeOff);
  }
}

/** Runs a trial. Rejects only with disk errors. Resolves to undefined if the evaluation was stopped in the meantime. */
export async function runTrial<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  planned: PlannedTrial<Case>,
  ports: TrialPorts,
): Promise<{ readonly report: TrialReport; readonly isLasting: boolean } | undefined> {
  const { item, number, directory } = planned;
  const { clock } = ports;
  if (directory !== undefined) await makeEmpty(directory);
  const watch = new Watch(ports.onSpent, planned.replay);
  const [startedAt, startTime] = [clock.now(), new Date().toISOString()];
  const judged = await judgeInTime(evaluation, planned, { ...ports, watch });
  if (judged === undefined) {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    return undefined;
  }
  const outcome = outcomeOf(judged);
  const report: TrialReport = {
    id: idOf(planned),
    case: item.id,
    number,
    ...outcome,
    ...(judged.isTimedOut && { isTimedOut: true }),
    ...(outcome.status !== "passed" && { question: shorten(watch.question), answer: shorten(answerOf(judged.result)) }),
    endings: watch.endings,
    ...watch.spent,
    startedAt: startTime,
    durationMs: Math.round(clock.now() - startedAt),
    ...(directory !== undefined && { directory }),
  };
  // Does not store an absolute path, because the folder may be moved or copied into a repository.
  const kept = { ...report, directory: undefined };
  if (directory !== undefined) await writeWhole(join(directory, trialFiles.report), `${JSON.stringify(kept, undefined, 2)}\n`);
  return { report, isLasting: judged.isLasting ?? false };
}

/** The maximum length of a question or answer in a report, in UTF-16 units. */
const longestText = 300;

function shorten(text: string | undefined): string | undefined {
  return text === undefined ? undefined : redactText(text, longestText, "…");
}

function answerOf(result: unknown): string | undefined {
  const text = isRecord(result) ? result["text"] : result;
  return typeof text === "string" ? text : undefined;
}

function questionOf({ messages }: ModelRequest): string | undefined {
  const asked = messages.find((message) => message.role === "user");
  return asked && userTextOf(asked);
}

function idOf({ item, number }: PlannedTrial<EvalCase>): string {
  return `${item.id}/${number}`;
}

/** Run ids in use by trials in this process. Needed because two evaluations may have cases with the same ids. */
const taken = new Set<string>();

function takeRunId(id: string): string {
  let runId = id;
  while (taken.has(runId)) runId = `${runId}+`;
  taken.add(runId);
  return runId;
}

/** Checks a trial's result within the time limit. Resolves to undefined if the evaluation was stopped in the meantime. */
async function judgeInTime<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  planned: PlannedTrial<Case>,
  { clock, trialMs, cleanupMs, signal, watch }: TrialPorts & { readonly watch: Watch },
): Promise<Judged | undefined> {
  const { item, number, directory, replay } = planned;
  const id = idOf(planned);
  const scope = new CancelScope();
  const stop = (): void => scope.cancel({ kind: "stop" });
  const runId = takeRunId(id);
  const releases = [onAbort(signal, stop), () => void taken.delete(runId)];
  if (signal.aborted) stop();
  scope.startWallClock(trialMs, clock.now(), clock);
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY, toolCleanupMs: cleanupMs }, { clock, scope });
  let stray: string | undefined;
  const fail = (error: unknown): boolean => {
    if (deadline.isOver) return false;
    stray ??= `The error "${toPlainError(error).message}" was not caught. Await each promise, or handle its error.`;
    scope.cancel({ kind: "kill" });
    return true;
  };
  let timeout: string | undefined;
  // In the recorded trial, the model was silent until the time was up. Waiting that long again would show nothing new.
  watch.onSilence = () => {
    timeout = replay?.timeout;
    if (timeout !== undefined) scope.cancel({ kind: "wall-clock", limitMs: trialMs });
  };
  const trial = {
    id,
    number,
    case: item,
    signal: signalOf(scope),
    isReplay: replay !== undefined,
    model: evaluation.model,
    options: wrapOptions({ id: runId, directory, scope, releases, tape: makeTape(planned, watch), watch }),
  };
  const at: Place = { step: "setup" };
  let late = at.step;
  releases.push(onAbort(signalOf(scope), () => (late = at.step)));
  const raced = await traceTrial({ id, fail }, () => deadline.race(judge(evaluation, trial, { at, watch })));
  deadline.end();
  const { cause } = scope;
  scope.release();
  for (const release of releases) release();
  if (stray !== undefined) return { checks: [], error: stray, isLasting: true };
  if (cause !== undefined && cause.kind !== "wall-clock") return undefined;
  if (raced.kind === "value") return withMistakes(raced.value, watch, replay?.from);
  timeout ??= `The trial took longer than ${trialMs} ms, and was still in ${late}.`;
  // Marks the error as lasting, because another trial would probably take just as long.
  return { checks: [], error: timeout, isTimedOut: true, isLasting: true };
}

/**
 * Turns likely mistakes into errors, because a trial could otherwise pass without being judged, cost money that is not counted, or point to
 * the wrong cause.
 */
function withMistakes(judged: Judged, watch: Watch, from: number | undefined): Judged {
  const error = watch.missing ?? judged.error ?? findMistake(judged, watch, from);
  if (error === undefined || error === judged.error) return judged;
  return { ...judged, error, isLasting: true };
}

function findMistake({ result }: Judged, { prepared, endings, iteration }: Watch, from = 0): string | undefined {
  if (prepared > endings.length) return 'A run has not ended yet. Await it in the function "run", and return its result.';
  if (endings.length > 0 && iteration < from)
    return `The run has ended before iteration ${from}: it has ${countThings(iteration + 1, "iteration")}, counted from 0. Use at most --from i${iteration} (the option replay.from).`;
  if (endings.length > 0 || !isRecord(result) || !isRecord(result["reason"]) || typeof result["runId"] !== "string")
    return undefined;
  return `The run ${result["runId"]} does not belong to the trial, so its cost is not counted, and it cannot be replayed. Pass its options through trial.options.`;
}

async function makeEmpty(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
}

/** Returns a trial's status and checks. A trial with an error has no checks, so its scores do not count toward any mean. */
function outcomeOf({ checks, error }: Judged): Pick<TrialReport, "status" | "error" | "checks"> {
  if (error !== undefined) return { status: "error", error, checks: [] };
  return { status: checks.every(({ pass }) => pass) ? "passed" : "failed", checks };
}

interface Judged {
  /** The value that the checks received. */
  readonly result?: unknown;
  readonly checks: TrialReport["checks"];
  readonly error?: string | undefined;
  readonly isTimedOut?: boolean | undefined;
  /** True if another trial would have the same error. */
  readonly isLasting?: boolean | undefined;
}

function judgeError(thrown: unknown): Judged {
  const { retryable } = isJudgeError(thrown) ? thrown : toProviderError(thrown);
  return { checks: [], error: toPlainError(thrown).message, isLasting: !retryable };
}

/** Which of the evaluation's functions is running. */
interface Place {
  step: "setup" | "run" | "check" | "teardown";
}

/** Runs and checks a trial. Never rejects. */
async function judge<Case extends EvalCase, Result, World>(
  { setup, run, check, checkOutages, teardown }: Evaluation<Case, Result, World>,
  facts: Omit<Trial<World, Case>, "world">,
  { at, watch }: { readonly at: Place; readonly watch: Watch },
): Promise<Judged> {
  const { case: item } = facts;
  let trial: Trial<World, Case> | undefined;
  let judged: Judged;
  try {
    const made = { ...facts, world: (await setup?.(item)) as World };
    trial = made;
    at.step = "run";
    const result = await run(item, made);
    const ended = (isRecord(result) && isThenable(result["result"]) ? await result["result"] : result) as never;
    at.step = "check";
    const findOutage = (): Outage | undefined => (checkOutages === true ? undefined : watch.outage);
    judged = await judgeResult(ended, () => check(ended, made.world, made), findOutage);
  } catch (error) {
    judged = judgeError(error);
  }
  at.step = "teardown";
  try {
    if (trial !== undefined) await teardown?.(trial.world);
  } catch (error) {
    judged = { ...judged, error: judged.error ?? `teardown failed: ${toPlainError(error).message}` };
  }
  return judged;
}

async function judgeResult(
  result: unknown,
  check: () => EvalChecks | PromiseLike<EvalChecks>,
  findOutage: () => Outage | undefined,
): Promise<Judged> {
  // Skips the checks if the model gave no answer. Otherwise, an agent that does nothing could pass, and nobody would notice a wrong API
  // key.
  const checks = findOutage() === undefined ? await readChecks(check) : [];
  const outage = findOutage();
  return { result, checks, ...(outage && { error: outage.message, isLasting: !outage.retryable }) };
}

function makeTape({ directory, replay }: Pick<PlannedTrial<EvalCase>, "directory" | "replay">, watch: Watch): Tape {
  if (replay !== undefined) {
    const { from, match = from === undefined ? "request" : "order" } = replay;
    return playTape(join(replay.directory, trialFiles.cassette), match, watch);
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
  const taped: Hooks = { provider: tape, nest: () => taped };
  const listened: Hooks = { ...taped, provider: (provider) => watch.listen(tape(provider)) };
  const observer: Middleware = { name: "trial", pure: true, ...listened, on: watch.take };
  const log = directory === undefined ? [] : [runLog({ to: join(directory, trialFiles.log) })];
  return (options) => {
    watch.prepared += 1;
    const { runId = watch.prepared === 1 ? id : `${id}/${watch.prepared}`, middleware = [] } = options;
    const journal =
      options.journal ??
      (directory === undefined ? memoryJournal() : fileJournal(join(directory, `journal-${fileNameOf(runId)}.jsonl`)));
    const { signal, release } = followSignal(signalOf(scope), options.signal);
    releases.push(release);
    return { ...options, runId, journal, signal, middleware: [observer, ...log, ...middleware] };
  };
}
