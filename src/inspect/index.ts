// The entry `turnwright/inspect`: writes a log of a run, reads it, shows and exports it, and tries a run again from an iteration.

export { type ChromeTraceOptions, toChromeTrace } from "./exports/chrome-trace.ts";
export { type MarkdownOptions, toMarkdown } from "./exports/markdown.ts";
export { journalToRunLog } from "./journal/journal-to-log.ts";
export type { RunLogPlace } from "../shared/event-table.ts";
export type { RedactText } from "./log/clean-values.ts";
export { parseRunLog, readRunLog } from "./log/read-run-log.ts";
export type {
  LoggedAttempt,
  LoggedCall,
  LoggedIteration,
  LoggedLine,
  LoggedOutput,
  LoggedCompaction,
  LoggedRequest,
  LoggedRun,
  LoggedWait,
  RunLog,
} from "./log/run-log.ts";
export type { RunLogSink } from "./log/log-writer.ts";
export { runLog, type RunLogOptions } from "./log/middleware.ts";
export { renderRunPage, type RunPageLog } from "./page/render-run-page.ts";
export { rerunFrom, type RerunOptions, type RerunPoint } from "./rerun/rerun-from.ts";
