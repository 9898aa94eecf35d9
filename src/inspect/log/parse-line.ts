import { isRecord, type Json, LoopError, parseJson } from "../../core/entry-kit.ts";

/** The version of the format. It changes only if older readers would misread the lines. */
export const logVersion = 1;

/** A line that does not fit the format. The page shows its message, and other readers convert it with `toDamaged`. */
class LineError extends Error {
  /** The line number, counted from 1. */
  readonly line: number;
  readonly problem: string;

  constructor(line: number, problem: string) {
    super(`Line ${line} ${problem}.`);
    this.line = line;
    this.problem = problem;
  }
}

/**
 * Converts a LineError to LoopError "log-damaged", and returns any other error unchanged. A log that was passed as a text has no
 * path.
 */
export function toDamaged(error: unknown, path = "run log"): unknown {
  if (!(error instanceof LineError)) return error;
  const { line, problem } = error;
  return new LoopError("log-damaged", { path, line, problem: `line ${line} ${problem}` });
}

export type LogLine = { readonly [field: string]: Json } & { readonly type: string; readonly at: number };

/** Parses a line, and passes it to `take`. Throws a LineError if the line is invalid, or if `take` throws a TypeError. */
export function parseLine(text: string, number: number, take: (line: LogLine) => void): void {
  const line = checkLine(text, number);
  try {
    take(line);
  } catch (error) {
    throw error instanceof TypeError ? new LineError(number, `${error.message}. Restore the file from a copy`) : error;
  }
}

function checkLine(text: string, number: number): LogLine {
  const line = parseJson(text);
  if (!isRecord(line)) throw new LineError(number, "is not JSON. Restore the file from a copy, or remove the line");
  const { type, at, version } = line;
  if (number === 1 && type !== "log") throw notHeader();
  if (typeof type !== "string" || typeof at !== "number")
    throw new LineError(number, 'has no "type" or no "at". Restore the file from a copy');
  if (type === "log" && version !== logVersion)
    throw new LineError(
      number,
      `has version ${JSON.stringify(version)}, but this release reads version ${logVersion}. Update turnwright`,
    );
  return line as LogLine;
}

function notHeader(): LineError {
  return new LineError(1, "is not the header of a run log. Check the path");
}

/** True if a crash has cut off the last line. Throws a LineError for a line 1 that is not the beginning of a header. */
export function isTornLine(text: string, number: number): boolean {
  if (text === "" || parseJson(text) !== undefined) return false;
  const start = '{"type":"log",';
  if (number === 1 && !start.startsWith(text.slice(0, start.length))) throw notHeader();
  return true;
}
