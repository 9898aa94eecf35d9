// Reads the text of a run log line by line, so that a long log needs little more memory than its content.

import { type Json, parseJson } from "../../core/entry-kit.ts";
import { RunBuilder } from "./build-runs.ts";
import { damaged, isStartOfHeader, type LinePlace, parseLine } from "./parse-line.ts";
import type { RunLog } from "./run-log.ts";
import { SharedReader } from "./shared-reader.ts";

/** Reads a log from pieces of its text. */
export class LogReader {
  readonly #path: string | undefined;
  readonly #values = new SharedReader();
  readonly #builder = new RunBuilder();
  #open: string[] = [];
  #line = 0;
  #source: RunLog["source"] = "log";

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

  /** Returns the content of all complete lines. More text may be added later. */
  read(): RunLog {
    return { version: 1, source: this.#source, runs: this.#builder.end(), isTorn: false };
  }

  /** Returns the whole log. Its last line may have no line break. */
  end(): RunLog {
    const last = this.#open.join("");
    const isTorn = last !== "" && parseJson(last) === undefined;
    if (isTorn && this.#line === 0 && !isStartOfHeader(last)) this.#take(last);
    if (last !== "" && !isTorn) this.#take(last);
    return { ...this.read(), isTorn };
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
      else if (line["from"] === "journal") this.#source = "journal";
    } catch (error) {
      throw error instanceof TypeError ? damaged(place, `${error.message}. Restore the file from a copy`) : error;
    }
  }
}
