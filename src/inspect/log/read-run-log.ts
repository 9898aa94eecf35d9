// Reads run logs from files and texts, line by line, so that a long log needs little more memory than its content.

import { RunBuilder } from "./build-runs.ts";
import { isTornLine, type LogLine, parseLine, toDamaged } from "./parse-line.ts";
import type { RunLog } from "./run-log.ts";
import { SharedReader } from "./shared-reader.ts";

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
  const reader = new LogReader();
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 2 ** 20 })) reader.add(String(chunk));
    return reader.end();
  } catch (error) {
    throw toDamaged(error, path);
  }
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
  const reader = new LogReader();
  try {
    reader.add(text);
    return reader.end();
  } catch (error) {
    throw toDamaged(error);
  }
}

/** Reads a log from pieces of its text. Its methods throw a LineError for a line that does not fit. */
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
