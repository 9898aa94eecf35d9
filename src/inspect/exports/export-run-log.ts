import { invalidOption } from "../../core/entry-kit.ts";
import { parseRunLog } from "../log/read-run-log.ts";
import type { RunLog } from "../log/run-log.ts";
import { toChromeTrace } from "./chrome-trace.ts";
import { toMarkdown } from "./markdown.ts";

const formats = {
  "chrome-trace": (log: RunLog): string => toChromeTrace(log),
  markdown: (log: RunLog): string => log.runs.map((run) => toMarkdown(run)).join("\n"),
} as const;

/** The formats of `exportRunLog`. */
export type ExportFormat = keyof typeof formats;

const formatNames: readonly ExportFormat[] = Object.keys(formats) as ExportFormat[];

/**
 * Exports all runs of a log, given as its text or as read. Throws LoopError "invalid-option" for another `format`, and
 * "log-damaged" like `parseRunLog`.
 */
export function exportRunLog(log: string | RunLog, format: ExportFormat): string {
  if (!Object.hasOwn(formats, format)) throw invalidOption("format", formatNames.join(" or "), format);
  return formats[format](typeof log === "string" ? parseRunLog(log) : log);
}
