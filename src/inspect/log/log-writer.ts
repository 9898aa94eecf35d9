// Appends the lines of runs to one log: a file or a sink. After an error, the log is closed and the runs continue.

import { resolve } from "node:path";
import { dropPromise, promiseOrValue } from "../../shared/promises.ts";
import { createLogState, findRun, type KnownRun, type LogFields, noteLine, toLine } from "./log-lines.ts";
import { logVersion } from "./parse-line.ts";
import { type LineTarget, openLogFile } from "./log-file.ts";

/** Receives the lines of a run log, each with a line break at its end. */
export interface RunLogSink {
  /** Writes one line. If `write` returns a promise, the next line is written after the promise has resolved. */
  write(line: string): unknown;
}

type ReportLogError = (error: unknown) => void;

export class LogWriter {
  readonly #target: LineTarget;
  readonly #onFailed: (error: unknown) => void;
  #hasFailed = false;
  #isEmpty: boolean;

  constructor(open: (fail: (error: unknown) => void) => LineTarget, onFailed: (error: unknown) => void) {
    this.#onFailed = onFailed;
    this.#target = open((error) => this.fail(error));
    this.#isEmpty = this.#target.isNew;
  }

  get isOpen(): boolean {
    return !this.#hasFailed;
  }

  findRun(key: string): KnownRun {
    return findRun(this.#target.state, key);
  }

  begin(at: number): void {
    const { state, from } = this.#target;
    if (this.#isEmpty) this.#target.write(toLine(state.values, { type: "log", at, version: logVersion, from }));
    this.#isEmpty = false;
  }

  /** Writes a line. Throws if this fails. The caller must then call `fail`. */
  write(run: KnownRun, fields: LogFields & { readonly type: string; readonly at: number }): void {
    if (this.#hasFailed) return;
    const { type, at, ...rest } = fields;
    this.begin(at);
    this.#target.write(toLine(this.#target.state.values, { type, at, run: run.number, ...rest }));
    noteLine(run, type, fields);
  }

  fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onFailed(error);
  }

  close(): void {
    try {
      this.#target.close(!this.#hasFailed);
    } catch (error) {
      this.fail(error);
    }
  }
}

/** Writes to a sink. While a promise from the sink is pending, later lines wait in memory. */
function openSink(sink: RunLogSink, fail: (error: unknown) => void): LineTarget {
  const waiting: string[] = [];
  let isBusy = false;
  const writeNext = (): void => {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      const written = promiseOrValue(sink.write(line));
      if (!(written instanceof Promise)) continue;
      isBusy = true;
      written.then(goOn).catch(fail);
      return;
    }
  };
  const goOn = (): void => {
    isBusy = false;
    writeNext();
  };
  return {
    state: createLogState(),
    isNew: true,
    write(line) {
      waiting.push(line);
      if (!isBusy) writeNext();
    },
    close: () => {},
  };
}

interface OpenLog {
  readonly writer: LogWriter;
  readonly reports: Set<ReportLogError>;
  runs: number;
}

const openFiles = new Map<string, OpenLog>();
/** The log of each sink. An entry stays after its runs have ended, so that later runs with the same sink continue the log. */
const sinkLogs = new WeakMap<RunLogSink, OpenLog>();

/** Opens a log for one run. Call `release` when the run is over. Throws if the file cannot be used as a log. */
export function openLog(target: string | RunLogSink, report: ReportLogError): { readonly writer: LogWriter; release(): void } {
  const to = typeof target === "string" ? resolve(target) : target;
  const log = (typeof to === "string" ? openFiles.get(to) : sinkLogs.get(to)) ?? createLog(to);
  if (typeof to === "string") openFiles.set(to, log);
  else sinkLogs.set(to, log);
  // Removes the error reporters of earlier runs only when a new run starts, because a sink may fail after its run has ended.
  if (log.runs === 0) log.reports.clear();
  log.reports.add(report);
  log.runs += 1;
  return {
    writer: log.writer,
    release() {
      log.runs -= 1;
      if (log.runs > 0) return;
      log.writer.close();
      if (typeof to === "string") openFiles.delete(to);
    },
  };
}

function createLog(to: string | RunLogSink): OpenLog {
  const reports = new Set<ReportLogError>();
  const tell = (error: unknown): void => {
    for (const report of reports) callSafely(() => report(error));
  };
  const writer = new LogWriter((fail) => (typeof to === "string" ? openLogFile(to) : openSink(to, fail)), tell);
  return { writer, reports, runs: 0 };
}

/** Calls one of the caller's functions, and ignores its errors. */
export function callSafely(call: () => unknown): void {
  try {
    dropPromise(call());
  } catch {
    // Ignores this error, because there is nowhere left to report it.
  }
}
