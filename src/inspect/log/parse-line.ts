// Parses a run log's lines. Checks the type of each field that readers use, so that an edited log cannot break them.

import { isRecord } from "../../core/kit.ts";
import { type Json, LoopError } from "../../core/index.ts";
import { parseJson } from "../../shared/json.ts";
import { isList } from "./shared-reader.ts";

/** The version of the format. It changes only if older readers would misread the lines. */
export const logVersion = 1;

/** Thrown for a line that does not fit the format. The web page shows the message. Other readers convert the error with `toDamaged`. */
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
 * Converts a LineError to LoopError "log-damaged", and returns any other error unchanged. The default `path` is used for a log that was
 * passed as a string.
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

/** True if a crash has left the last line incomplete. Throws a LineError if line 1 is not the beginning of a header. */
export function isTornLine(text: string, number: number): boolean {
  if (text === "" || parseJson(text) !== undefined) return false;
  const start = '{"type":"log",';
  if (number === 1 && !start.startsWith(text.slice(0, start.length))) throw notHeader();
  return true;
}

type Check = (value: Json) => boolean;
type Checks = { readonly [field: string]: Check };

const text: Check = (value) => typeof value === "string";
const count: Check = (value) => typeof value === "number";
const listOfAll =
  (check: Check): Check =>
  (value) =>
    isList(value) && value.every(check);

const record =
  (required: Checks, optional: Checks = {}): Check =>
  (value) =>
    isRecord(value) &&
    Object.entries(required).every(([field, check]) => check(value[field] ?? null)) &&
    wrongField(value, optional) === undefined;

/** Returns the name of the first field of the wrong type. Removes fields with the value null, as if they were missing. */
function wrongField(fields: { readonly [field: string]: unknown }, checks: Checks): string | undefined {
  return Object.keys(checks).find((field) => {
    if (fields[field] === null) Reflect.deleteProperty(fields, field);
    return fields[field] !== undefined && checks[field]?.(fields[field] as Json) === false;
  });
}

const error = record({ message: text }, { name: text, code: text });
const textPart = record({ text });
const media = record({ type: text, mediaType: text }, { name: text });
const call = record({ callId: text, name: text });
const result = record({ callId: text, name: text, outcome: text }, { content: listOfAll((value) => isUserPart(value)) });

function isUserPart(value: Json): boolean {
  return isRecord(value) && value["type"] === "text" ? textPart(value) : media(value);
}

function isAssistantPart(value: Json): boolean {
  if (!isRecord(value)) return false;
  return value["type"] === "tool-call" ? call(value) : textPart(value);
}

const messages: Checks = {
  user: record({ content: (value) => text(value) || listOfAll(isUserPart)(value) }),
  assistant: record({ content: listOfAll(isAssistantPart) }),
  tool: record({ results: listOfAll(result) }),
};

const roles: ReadonlySet<unknown> = new Set(Object.keys(messages));

function isMessage(value: Json): boolean {
  return isRecord(value) && roles.has(value["role"]) && messages[value["role"] as string]?.(value) === true;
}

const ending: Checks = { status: text, outcome: text, cause: text, provider: text, model: text, finish: text, error };

/** The checks for the fields of each type of line. Fields that no reader uses are not checked. */
const lines: { readonly [type: string]: Checks | undefined } = {
  "run-start": {
    version: text,
    path: listOfAll(text),
    limits: isRecord,
    timeouts: isRecord,
    middleware: listOfAll(text),
    session: isRecord,
  },
  request: {
    provider: text,
    model: text,
    system: text,
    output: isRecord,
    tools: listOfAll(record({ name: text }, { description: text })),
    settings: isRecord,
    replace: listOfAll((pair) => isList(pair) && isMessage(pair[1] ?? null)),
    add: listOfAll(isMessage),
  },
  "attempt-discarded": { error, text, reasoning: text },
  "first-token": { kind: text },
  output: {
    text,
    reasoning: text,
    details: text,
    calls: listOfAll(record({}, { problem: text })),
    providerMetadata: isList,
    finish: text,
    rawFinish: text,
    error,
  },
  "iteration-end": ending,
  "compaction-start": ending,
  "compaction-end": { ...ending, tokensBefore: count, tokensAfter: count },
  "tool-end": ending,
  "run-end": { ...ending, reason: record({ kind: text }, { error }) },
  "run-error": ending,
};

/** Throws a TypeError if a field in the line has the wrong type. Removes fields with the value null. */
export function checkTypes(line: LogLine): void {
  const checks = Object.hasOwn(lines, line.type) ? lines[line.type] : undefined;
  const wrong = checks && wrongField(line, checks);
  if (wrong !== undefined) throw new TypeError(`has no valid "${wrong}"`);
}
