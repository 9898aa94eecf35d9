// The entry `turnwright/inspect`: writes a log of a run, and reads it.

export type { RedactText, RunLogPlace } from "./clean-values.ts";
export { parseRunLog, readRunLog } from "./read-run-log.ts";
export type {
  LoggedAttempt,
  LoggedCall,
  LoggedIteration,
  LoggedLine,
  LoggedOutput,
  LoggedRequest,
  LoggedRun,
  LoggedWait,
  RunLog,
} from "./run-log.ts";
export type { RunLogSink } from "./log-writer.ts";
export { type RunLogOptions, withRunLog } from "./with-run-log.ts";
