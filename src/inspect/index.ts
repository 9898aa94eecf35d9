// The `turnwright/inspect` entry point: writes a run's log, reads it, shows and exports it, and reruns it from an iteration.

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
