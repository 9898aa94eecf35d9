// Reads run logs from files and strings line by line, so that reading a long log takes little more memory than its content.

import { isTornLine, type LogLine, parseLine, toDamaged, checkTypes } from "./parse-line.ts";
import type {
  RunLog,
  LoggedAttempt,
  LoggedCall,
  LoggedCompaction,
  LoggedIteration,
  LoggedLine,
  LoggedRequest,
  LoggedRun,
} from "../../shared/run-log.ts";
import { SharedReader } from "./shared-reader.ts";
import { isRecord, listOf } from "../../core/kit.ts";
import type { Json } from "../../core/index.ts";
import {
  type CallTimes,
  failWith,
  findWaits,
  type JoinedOutput,
  joinOutputs,
  numberOrNone,
  requireCount,
  requireText,
  spendingOf,
  toRequest,
} from "./read-parts.ts";

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

interface CallDraft extends Mutable<LoggedCall> {
  readonly progress: { readonly at: number; readonly data: Json }[];
  readonly runs: LoggedRun[];
}

interface IterationDraft extends Mutable<LoggedIteration> {
  readonly attempts: Mutable<LoggedAttempt>[];
  readonly calls: CallDraft[];
  output?: JoinedOutput | undefined;
}

interface RunDraft extends Mutable<LoggedRun> {
  readonly starts: number[];
  readonly iterations: IterationDraft[];
  readonly compactions: Mutable<LoggedCompaction>[];
  readonly lines: LoggedLine[];
}

interface RunParts {
  readonly run: RunDraft;
  /** The streams of each iteration, by number, ordered by continuation. Streams that were repeated after a crash are removed. */
  readonly streams: Map<number, IterationDraft[]>;
  readonly calls: Map<string, CallDraft>;
  readonly requests: LoggedRequest[];
  /** The list that contains the run: the outermost runs, or the runs of a call. */
  siblings: LoggedRun[];
  outer?: RunParts | undefined;
  depth: number;
}

type Take = (parts: RunParts, line: LogLine) => void;

const takers: { readonly [type: string]: Take | undefined } = {
  "iteration-start": ({ run, streams, calls }, line) => {
    const iteration: IterationDraft = {
      iteration: requireCount(line, "iteration"),
      continuation: requireCount(line, "continuation"),
      agent: line["agent"] === undefined ? undefined : requireText(line, "agent"),
      isReplayed: line["replayed"] === true,
      startedAt: line.at,
      attempts: [],
      calls: [],
      waits: [],
    };
    run.iterations.push(iteration);
    // A stream repeated after a crash replaces the old one. The old calls are removed, because the new ones may have the same ids.
    const known = streams.get(iteration.iteration) ?? [];
    for (let old = known.at(-1); old !== undefined && old.continuation >= iteration.continuation; old = known.at(-1)) {
      for (const { callId } of old.calls) calls.delete(callId);
      known.pop();
    }
    known.push(iteration);
    streams.set(iteration.iteration, known);
  },
  request: (parts, line) => {
    const request = toRequest(parts.requests, line);
    parts.requests.push(request);
    iterationOf(parts, line).request = request;
  },
  "attempt-start": (parts, line) => {
    const { attempts } = iterationOf(parts, line);
    const [attempt, provider, model] = [requireCount(line, "attempt"), requireText(line, "provider"), requireText(line, "model")];
    const last = attempts.at(-1);
    // An inner wrapper has reported the same attempt again. Its provider is the one that actually answers, so it replaces the outer
    // wrapper's.
    if (last?.attempt === attempt) [last.provider, last.model] = [provider, model];
    else attempts.push({ attempt, provider, model, startedAt: line.at });
  },
  "attempt-discarded": (parts, line) => {
    const attempt = iterationOf(parts, line).attempts.find((one) => one.attempt === line["attempt"]);
    if (attempt === undefined) return;
    const { error, text, reasoning } = line as unknown as Pick<LoggedAttempt, "error" | "text" | "reasoning">;
    Object.assign(attempt, { discardedAt: line.at, error, text, reasoning });
  },
  "first-token": (parts, line) => {
    const iteration = iterationOf(parts, line);
    const sentAt = iteration.attempts.at(-1)?.startedAt ?? iteration.request?.at ?? iteration.startedAt;
    const kind = line["kind"] as NonNullable<LoggedIteration["firstToken"]>["kind"];
    iteration.firstToken = { at: line.at, ms: line.at - sentAt, kind };
  },
  output: takeOutput,
  "iteration-end": (parts, line) => {
    const { status, provider, model, finish } = line as unknown as LoggedIteration;
    Object.assign(iterationOf(parts, line), { endedAt: line.at, status, provider, model, finish, ...spendingOf(line) });
  },
  "compaction-start": ({ run }, line) => {
    const { cause } = line as unknown as LoggedCompaction;
    const isReplayed = line["replayed"] === true;
    run.compactions.push({ iteration: requireCount(line, "iteration"), isReplayed, cause, startedAt: line.at });
  },
  "compaction-end": ({ run }, line) => {
    const compaction = run.compactions.at(-1);
    if (compaction === undefined || compaction.endedAt !== undefined) return;
    const { outcome, tokensBefore, tokensAfter, provider, model, error } = line as unknown as LoggedCompaction;
    const facts = { outcome, tokensBefore, tokensAfter, provider, model, error };
    Object.assign(compaction, { ...spendingOf(line), endedAt: line.at, ...facts });
  },
  "tool-start": (parts, line) => {
    const call = callOf(parts, line);
    call.startedAt = line.at;
    call.args = line["args"] ?? call.args;
    noteResumed(timesOf(call), line);
  },
  "tool-progress": addProgress,
  "tool-emit": addProgress,
  "tool-end": (parts, line) => {
    const call = callOf(parts, line);
    const { outcome, result, metadata = call.metadata } = line as unknown as LoggedCall;
    Object.assign(call, { endedAt: line.at, outcome, result, metadata, durationMs: numberOrNone(line["durationMs"]) });
    if (outcome === "deferred") Object.assign(timesOf(call), { deferredAt: line.at, resumedAt: undefined });
    else noteResumed(timesOf(call), line);
  },
  handoff: (parts, line) => {
    const { reason } = line;
    callOf(parts, line).handoff = { to: requireText(line, "to"), ...(typeof reason === "string" && { reason }) };
  },
  "approval-asked": (parts, line) => {
    const times = timesOf(callOf(parts, line));
    times.askedAt ??= line.at;
  },
  "approval-decided": (parts, line) => {
    const call = callOf(parts, line);
    call.decision = requireText(line, "decision");
    timesOf(call).decidedAt = line.at;
  },
  "run-end": ({ run }, line) => {
    const { status, reason } = line as unknown as LoggedRun;
    const toolCallsExecuted = numberOrNone(line["toolCallsExecuted"]);
    Object.assign(run, { endedAt: line.at, status, reason, ...spendingOf(line), toolCallsExecuted, error: undefined });
  },
  "run-error": ({ run }, line) => {
    run.endedAt = line.at;
    run.error = line["error"] as unknown as LoggedRun["error"];
  },
};

/**
 * Records when a call resumes. A result from outside has no `tool-start`, unless it makes the tool run again, or the log comes from an
 * older version.
 */
function noteResumed(times: CallTimes, { at }: LogLine): void {
  if (times.deferredAt !== undefined) times.resumedAt ??= at;
}

function addProgress(parts: RunParts, line: LogLine): void {
  callOf(parts, line).progress.push({ at: line.at, data: line["data"] ?? line["part"] ?? null });
}

const times = new WeakMap<object, CallTimes>();

function timesOf(call: object): CallTimes {
  const known = times.get(call) ?? {};
  times.set(call, known);
  return known;
}

function takeOutput(parts: RunParts, line: LogLine): void {
  const iteration = iterationOf(parts, line);
  iteration.output = joinOutputs(iteration.output, line);
  for (const call of listOf(line["calls"])) {
    if (!isRecord(call)) throw new TypeError('has an invalid item in "calls"');
    const draft = callOf(parts, { ...call, ...placeOf(line) } as LogLine);
    draft.args ??= call["args"] as Json;
    draft.problem = call["problem"] as string | undefined;
    draft.readyAt = numberOrNone(call["at"]);
  }
}

function placeOf({ type, at, iteration = 0 }: LogLine): LogLine {
  return { type, at, iteration };
}

function iterationOf({ streams }: RunParts, line: LogLine): IterationDraft {
  return streams.get(requireCount(line, "iteration"))?.at(-1) ?? failWith("is about an iteration that has not started");
}

/** Returns the call that a line is about. Adds an unknown call, because a call that was cut off has no output line. */
function callOf(parts: RunParts, line: LogLine): CallDraft {
  const callId = requireText(line, "callId");
  const known = parts.calls.get(callId);
  if (known !== undefined) return known;
  const call: CallDraft = { callId, name: requireText(line, "name"), index: requireCount(line, "index"), progress: [], runs: [] };
  parts.calls.set(callId, call);
  const { calls } = iterationOf(parts, line);
  // Inserts the call in order, because a resumed run first replays the calls that have a decision.
  const next = calls.findIndex(({ index }) => index > call.index);
  calls.splice(next === -1 ? calls.length : next, 0, call);
  return call;
}

/** The maximum number of calls around a nested run. Readers are recursive, so deeper runs could overflow the stack. */
const maxNested = 100;

/** Adds lines to runs. The methods throw a TypeError for a line that does not fit the format. */
class RunBuilder {
  readonly runs: LoggedRun[] = [];
  readonly #parts: RunParts[] = [];

  add(line: LogLine): void {
    const number = requireCount(line, "run");
    checkTypes(line);
    if (line.type === "run-start") this.#start(number, line);
    const parts = this.#parts[number] ?? failWith("is about a run without a run-start line");
    parts.run.lines.push(line);
    if (Object.hasOwn(takers, line.type)) takers[line.type]?.(parts, line);
  }

  #start(number: number, line: LogLine): void {
    const known = this.#parts[number];
    if (known !== undefined) {
      known.run.starts.push(line.at);
      Object.assign(known.run, { endedAt: undefined, status: undefined, reason: undefined, error: undefined });
      return this.#place(known, line);
    }
    if (number !== this.#parts.length) throw new TypeError("has the wrong run number");
    const path = listOf(line["path"]).map(String);
    const facts = line as unknown as Partial<LoggedRun>;
    const run: RunDraft = {
      runId: requireText(line, "runId"),
      path,
      provider: requireText(line, "provider"),
      model: requireText(line, "model"),
      version: facts.version,
      limits: facts.limits ?? {},
      timeouts: facts.timeouts ?? {},
      middleware: facts.middleware ?? [],
      session: facts.session,
      starts: [line.at],
      startedAt: line.at,
      iterations: [],
      compactions: [],
      lines: [],
    };
    const parts: RunParts = { run, streams: new Map(), calls: new Map(), requests: [], siblings: [], depth: 0 };
    this.#parts.push(parts);
    this.#place(parts, line);
  }

  /**
   * Adds a run to its call, or to the outermost runs. A stream that is repeated after a crash has new call objects, so the run moves to the
   * new call.
   */
  #place(parts: RunParts, line: LogLine): void {
    const { run, siblings } = parts;
    const outer = run.path.length === 0 ? undefined : this.#outerOf(parts, line);
    parts.siblings = outer?.calls.get(run.path.at(-1) ?? "")?.runs ?? this.runs;
    if (parts.siblings === siblings) return;
    if (siblings.includes(run)) siblings.splice(siblings.indexOf(run), 1);
    parts.siblings.push(run);
  }

  /** Returns the outer run of a nested run. Refuses a run that contains itself, because readers would follow it forever. */
  #outerOf(parts: RunParts, line: LogLine): RunParts {
    const parent = requireCount(line, "parent");
    const outer = this.#parts[parent];
    if (outer === undefined || parent >= requireCount(line, "run")) throw new TypeError('has no valid "parent"');
    if (parts.outer !== undefined && parts.outer !== outer) throw new TypeError("has a different parent than before");
    [parts.outer, parts.depth] = [outer, outer.depth + 1];
    if (parts.depth > maxNested) throw new TypeError(`has a nested run inside more than ${maxNested} calls`);
    return outer;
  }

  end(): readonly LoggedRun[] {
    for (const { run } of this.#parts) for (const iteration of run.iterations) iteration.waits = findWaits(iteration, timesOf);
    return this.runs;
  }
}

/**
 * Reads a run log from a file, even while runs are writing it. Ignores an incomplete last line. Rejects with LoopError
 * "log-damaged", which gives the line number, if the file is not a run log, was changed, or has a newer version. Also rejects
 * with file system errors.
 *
 * @example
 * const { runs } = await readRunLog("run.jsonl");
 * for (const { request, usage } of runs[0]?.iterations ?? []) console.log(request?.messages(), usage);
 */
export async function readRunLog(path: string): Promise<RunLog> {
  const { createReadStream } = await import("node:fs");
  const reader = new LogReader();
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 2 ** 20 })) reader.add(String(chunk));
    return reader.end();
  } catch (error) {
    throw toDamaged(error, path);
  }
}

/**
 * Reads a run log from its text, such as the joined lines that a sink received. Throws LoopError "log-damaged" like `readRunLog`.
 *
 * @example
 * const lines: string[] = [];
 * await runToolLoop({ ...options, middleware: [runLog({ to: { write: (line) => lines.push(line) } })] });
 * const { runs } = parseRunLog(lines.join(""));
 */
export function parseRunLog(text: string): RunLog {
  const reader = new LogReader();
  try {
    reader.add(text);
    return reader.end();
  } catch (error) {
    throw toDamaged(error);
  }
}

/** Reads a log piece by piece. Its methods throw a LineError for a line that does not fit the format. */
export class LogReader {
  readonly #values = new SharedReader();
  readonly #builder = new RunBuilder();
  #open: string[] = [];
  #line = 0;
  #source: RunLog["source"] = "log";

  add(chunk: string): void {
    const [first = "", ...lines] = chunk.split("\n");
    this.#open.push(first);
    for (const line of lines) {
      this.#take(this.#open.join(""));
      this.#open = [line];
    }
  }

  /** Returns the content of all complete lines. More text may be added later. */
  read(): RunLog {
    return { version: 1, source: this.#source, runs: this.#builder.end(), isTorn: false };
  }

  /** Returns the whole log. Its last line may have no line break. */
  end(): RunLog {
    const last = this.#open.join("");
    const isTorn = isTornLine(last, this.#line + 1);
    if (last !== "" && !isTorn) this.#take(last);
    return { ...this.read(), isTorn };
  }

  #take(text: string): void {
    this.#line += 1;
    parseLine(text, this.#line, (line) => this.#add(line));
  }

  #add(line: LogLine): void {
    this.#values.readLine(line);
    if (line.type !== "log") this.#builder.add(line);
    else if (line["from"] === "journal") this.#source = "journal";
  }
}
