// The command `turnwright export`: writes a log in a format of another tool.

import { resolve } from "node:path";
import { type ExportFormat, exportRunLog } from "../inspect/exports/export-run-log.ts";
import { type CliIO, wrongUsage } from "./cli-io.ts";
import { besideLog, findLogs, readLogText, writePrivate } from "./log-files.ts";
import { parseArguments } from "./parse-arguments.ts";

const endings: { readonly [Format in ExportFormat]: string } = { "chrome-trace": ".trace.json", markdown: ".md" };

export async function exportLog(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, {
    format: { type: "string", short: "f" },
    out: { type: "string", short: "o" },
  });
  if (positionals.length !== 1) throw wrongUsage("`export` needs the path of one log.");
  const { format } = values;
  if (!isFormat(format)) throw wrongUsage(`--format must be ${Object.keys(endings).join(" or ")}.`);
  const { logs, folder } = await findLogs(positionals, io.cwd);
  const [log] = logs;
  if (log === undefined || folder !== undefined) throw wrongUsage("`export` needs a log, not a folder.");
  const path = values.out === undefined ? besideLog(log.path, endings[format]) : resolve(io.cwd, values.out);
  await writePrivate(path, exportRunLog(await readLogText(log), format));
  io.out(path);
}

function isFormat(format: string | undefined): format is ExportFormat {
  return format !== undefined && Object.hasOwn(endings, format);
}
