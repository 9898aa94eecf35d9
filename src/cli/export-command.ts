import { resolve } from "node:path";
import { toChromeTrace } from "../inspect/exports/chrome-trace.ts";
import { toMarkdown } from "../inspect/exports/markdown.ts";
import { parseRunLog } from "../inspect/log/read-run-log.ts";
import type { RunLog } from "../inspect/log/run-log.ts";
import { type CliIO, parseArguments, wrongUsage } from "./cli-io.ts";
import { besideLog, findLogs, readLogText } from "./log-files.ts";
import { writePrivate } from "./write-private.ts";

const formats = {
  "chrome-trace": { ending: ".trace.json", write: (log: RunLog): string => toChromeTrace(log) },
  markdown: { ending: ".md", write: ({ runs }: RunLog): string => runs.map((run) => toMarkdown(run)).join("\n") },
} as const;

export async function exportLog(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, {
    format: { type: "string", short: "f" },
    out: { type: "string", short: "o" },
  });
  if (positionals.length !== 1) throw wrongUsage("`export` needs the path of one log.");
  const { format } = values;
  if (!isFormat(format)) throw wrongUsage(`--format must be ${Object.keys(formats).join(" or ")}.`);
  const { logs, folder } = await findLogs(positionals, { cwd: io.cwd });
  const [log] = logs;
  if (log === undefined || folder !== undefined) throw wrongUsage("`export` needs a log, not a folder.");
  const { ending, write } = formats[format];
  const path = values.out === undefined ? besideLog(log.path, ending) : resolve(io.cwd, values.out);
  await writePrivate(path, write(parseRunLog(await readLogText(log))));
  io.out(path);
}

function isFormat(format: string | undefined): format is keyof typeof formats {
  return format !== undefined && Object.hasOwn(formats, format);
}
