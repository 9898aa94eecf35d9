// Reads run logs line by line, so that a long log needs little more memory than its content.

import { type Json, parseJson } from "../core/entry-kit.ts";
import { RunBuilder } from "./build-runs.ts";
import { damaged, isStartOfHeader, type LinePlace, parseLine } from "./log-lines.ts";
import type { RunLog } from "./run-log.ts";
import { SharedReader } from "./shared-values.ts";

/**
 * Reads a run log from a file, even while runs are writing it. Ignores an incomplete last line. Rejects with LoopError
 * "log-damaged", with the number of the line, if the file is not a run log, was changed, or has a newer version. Also rejects
 * with the errors of the file system.
 *
 * @example
 * const { runs } = await readRunLog("run.jsonl");
 * for (const { request, usage } of runs[0]?.iterations ?? []) console.log(request?.messages(), usage);
 */
export async function readRunLog(path: string): Promise<RunLog> {
  const { createReadStream } = await import("node:fs");
  const reader = new LogReader(path);
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 2 ** 20 })) reader.add(String(chunk));
  return reader.end();
}

/**
 * Reads a run log from its text, such as the joined lines that a sink got. Throws LoopError "log-damaged" like `readRunLog`.
 *
 * @example
 * const lines: string[] = [];
 * await runToolLoop(withRunLog(options, { to: { write: (line) => lines.push(line) } }));
 * const { runs } = parseRunLog(lines.join(""));
 */
export function parseRunLog(text: string): RunLog {
  const reader = new LogReader(undefined);
  reader.add(text);
  return reader.end();
}

class LogReader {
  readonly #path: string | undefined;
  readonly #values = new SharedReader();
  readonly #builder = new RunBuilder();
  #open: string[] = [];
  #line = 0;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  add(chunk: string): void {
    const [first = "", ...lines] = chunk.split("\n");
    this.#open.push(first);
    for (const line of lines) {
      this.#take(this.#open.join(""));
      this.#open = [line];
    }
  }

  end(): RunLog {
    const last = this.#open.join("");
    const isTorn = last !== "" && parseJson(last) === undefined;
    if (isTorn && this.#line === 0 && !isStartOfHeader(last)) this.#take(last);
    if (last !== "" && !isTorn) this.#take(last);
    return { version: 1, runs: this.#builder.end(), isTorn };
  }

  #take(text: string): void {
    this.#line += 1;
    const place: LinePlace = { ...(this.#path !== undefined && { path: this.#path }), line: this.#line };
    const line = parseLine(text, place);
    try {
      for (const [field, value] of Object.entries(line)) {
        if (typeof value === "object") (line as { [field: string]: Json })[field] = this.#values.read(value);
      }
      if (line.type !== "log") this.#builder.add(line);
    } catch (error) {
      throw error instanceof TypeError ? damaged(place, `${error.message}. Restore the file from a copy`) : error;
    }
  }
}
