import { checkFields, checkNeeded, type Checks, is, isRecord, type LoopOptions, type Tool } from "../../core/entry-kit.ts";
import { observeRun, type StartObserving } from "../../core/observe-kit.ts";
import { Cleaner, type RedactText } from "./clean-values.ts";
import { callSafely, openLog, type RunLogSink } from "./log-writer.ts";
import { heardEvents } from "./noted-events.ts";
import { type RecorderPorts, type RunPlace, RunRecorder } from "./run-recorder.ts";

/** The options of `withRunLog`. */
export interface RunLogOptions {
  /**
   * The path of a file, or a sink that gets each line. Only the owner of a new file can read it. In an existing log, new lines
   * are added after the last line.
   */
  readonly to: string | RunLogSink;
  /**
   * Returns the text to write instead of a text of the run. Called for each text of messages, arguments, results, errors, tools
   * and settings before it is written. If it throws or returns no string, "[redaction failed]" is written. Credentials are
   * removed from the returned text. Default: texts are written without their credentials.
   */
  readonly redact?: RedactText | undefined;
  /** The source of the wall-clock times in the log. `now` returns milliseconds since 1970. Default: `Date`. */
  readonly clock?: { now(): number } | undefined;
  /**
   * Called once if the log cannot be written. The log then ends, and the run continues. Default: a process warning.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const hasMethod = (value: unknown, name: string): boolean => isRecord(value) && typeof value[name] === "function";

const checks: Checks<RunLogOptions> = {
  to: [
    "the path of a file, or an object with the method `write`",
    (to) => (typeof to === "string" ? to !== "" : hasMethod(to, "write")),
  ],
  redact: is.fn,
  clock: ["an object with the method `now`", (clock) => hasMethod(clock, "now")],
  onError: is.fn,
};

function warn(error: unknown): void {
  const message = error instanceof Error ? error.message : "unknown error";
  globalThis.process?.emitWarning?.(
    `The run log cannot be written and has ended. The run continues. Cause: ${message}`,
    "RunLogWarning",
  );
}

/**
 * Returns loop options that write a log of the run, as JSON lines: each request, the output of the model, calls and results,
 * attempts, waits and nested runs, with wall-clock times. `readRunLog` reads the log.
 *
 * Texts and messages are written once, so the log grows with the new content of each iteration. A file has all lines of the run
 * when the run ends or the process dies. The log does not change the events, the result or the errors of the run. A resumed run
 * continues its log: replayed steps that the log has are not written again.
 *
 * Throws LoopError "invalid-option" or "unknown-option" for `log`.
 *
 * @example
 * await runToolLoop(withRunLog({ provider, tools, messages }, { to: "run.jsonl" }));
 * const { runs } = await readRunLog("run.jsonl");
 */
export function withRunLog<Output = unknown, T extends Tool = Tool>(
  options: LoopOptions<Output, T>,
  log: RunLogOptions,
): LoopOptions<Output, T> {
  checkNeeded("log", log, { name: "to", check: checks.to });
  checkFields("log", log, checks);
  const { to, redact, clock = Date, onError = warn } = log;
  const cleaner = new Cleaner(redact);
  const report = (error: unknown): void => callSafely(() => onError(error));
  const startNested =
    (place: RunPlace): StartObserving =>
    (run) => {
      try {
        const { writer, release } = openLog(to, report);
        const ports: RecorderPorts = { writer, cleaner, now: () => clock.now(), release, startNested };
        return createRecorder(() => new RunRecorder(run, ports, place), ports);
      } catch (error) {
        report(error);
        return undefined;
      }
    };
  return observeRun(options, { hears: heardEvents, start: startNested({ path: [] }) });
}

function createRecorder(create: () => RunRecorder, { writer, release }: RecorderPorts): RunRecorder | undefined {
  try {
    if (writer.isOpen) return create();
  } catch (error) {
    writer.fail(error);
  }
  release();
  return undefined;
}
