// The `turnwright/inspect` entry point: writes, reads, displays and exports run logs, and repeats runs from a chosen iteration.

export { toChromeTrace } from "./exports/chrome-trace.ts";
export { toMarkdown } from "./exports/markdown.ts";
export { journalToRunLog } from "./journal/journal-to-log.ts";
export type { RunLogPlace } from "../shared/event-table.ts";
export { parseRunLog, readRunLog } from "./log/read-run-log.ts";
export type { LoggedCall, LoggedIteration, LoggedRun, RunLog } from "../shared/run-log.ts";
export type { RunLogSink } from "./log/log-writer.ts";
export { runLog } from "./log/middleware.ts";
export { renderRunPage } from "./page/render-run-page.ts";
export { rerunFrom } from "./rerun/rerun-from.ts";
