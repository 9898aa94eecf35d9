// Reads run logs from files and texts.

import { LogReader } from "./log-reader.ts";
import { toDamaged } from "./parse-line.ts";
import type { RunLog } from "./run-log.ts";

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
