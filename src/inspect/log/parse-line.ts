// Parses the lines of a run log.

import { isRecord, type Json, LoopError, parseJson } from "../../core/entry-kit.ts";

/** The version of the format. It changes only if older readers would misread the lines. */
export const logVersion = 1;

export interface LinePlace {
  /** The path of the file. Undefined for a log that is read from a text. */
  readonly path?: string;
  /** The line number, counted from 1. */
  readonly line: number;
}

export function damaged(place: LinePlace, problem: string): LoopError<"log-damaged"> {
  return new LoopError("log-damaged", { path: "run log", ...place, problem: `line ${place.line} ${problem}` });
}

export type LogLine = { readonly [field: string]: Json } & { readonly type: string; readonly at: number };

/** Parses a line, and checks the fields that every line has. Throws LoopError "log-damaged". */
export function parseLine(text: string, place: LinePlace): LogLine {
  const line = parseJson(text);
  if (!isRecord(line)) throw damaged(place, "is not JSON. Restore the file from a copy, or remove the line");
  const { type, at, version } = line;
  if (place.line === 1 && type !== "log") throw damaged(place, "is not the header of a run log. Check the path");
  if (typeof type !== "string" || typeof at !== "number")
    throw damaged(place, 'has no "type" or no "at". Restore the file from a copy');
  if (type === "log" && version !== logVersion) {
    throw damaged(
      place,
      `has version ${JSON.stringify(version)}, but this release reads version ${logVersion}. Update turnwright`,
    );
  }
  return line as LogLine;
}

/** True if a text may be the beginning of a header that a crash has cut off. */
export function isStartOfHeader(text: string): boolean {
  const start = '{"type":"log",';
  return start.startsWith(text.slice(0, start.length));
}
