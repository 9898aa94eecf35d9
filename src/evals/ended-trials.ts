// Stores ended trials on disk, so that another process can continue an evaluation that was stopped or killed.

import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isRecord } from "../core/kit.ts";
import { writeWhole } from "../journal/named-files.ts";
import { digest, parseJson, stableJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import type { EvalCase, TrialReport } from "./evaluation.ts";
import { isTrialReport } from "./kept-trials.ts";

/** A line of the file. `of` identifies the case and the model: if one of them changes, the trial says nothing about them. */
interface Line {
  readonly of: string;
  readonly report: TrialReport;
}

/** The trials of one case. */
export class EndedTrials {
  readonly #path: string;
  readonly #of: string;

  constructor(path: string, item: EvalCase, model: string | undefined) {
    this.#path = path;
    this.#of = digest(stableJson([item, model ?? null]));
  }

  async add(report: TrialReport): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true });
    await appendFile(this.#path, toLine({ of: this.#of, report }));
  }

  /** Returns the trials that passed or failed, by their numbers, and removes all others from the file. */
  async read(): Promise<readonly TrialReport[]> {
    const text = await readFile(this.#path, "utf8").catch(unlessMissing);
    if (text === undefined) return [];
    // Skips a last line that is incomplete because the process was killed while it wrote.
    const lines = text.split("\n").map(parseJson).filter(isLine);
    const own = lines.filter(({ of, report }) => of === this.#of && report.status !== "error");
    const found = [...new Map(own.map((line) => [line.report.number, line])).values()];
    await writeWhole(this.#path, found.map(toLine).join(""));
    return found.map(({ report }) => report).sort((one, other) => one.number - other.number);
  }
}

const toLine = (line: Line): string => `${JSON.stringify(line)}\n`;

function isLine(value: unknown): value is Line {
  return isRecord(value) && typeof value["of"] === "string" && isTrialReport(value["report"]);
}
