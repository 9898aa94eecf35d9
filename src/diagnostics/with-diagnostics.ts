// Tracing channels of Node's diagnostics_channel for runs, iterations and calls.

import { type Checks, checkFields, is, type LoopOptions } from "../core/provider-kit.ts";
import { observeRun } from "../core/observe-kit.ts";
import { heardEvents, isAnyHeard, RunChannels } from "./run-channels.ts";

/** What messages say. */
export interface DiagnosticsOptions {
  /** Puts the arguments and the result of each call into its messages. Default false. */
  readonly captureContent?: boolean | undefined;
}

const checks: Checks<DiagnosticsOptions> = { captureContent: is.flag };

/**
 * Gives the options of a run that tells of itself on the tracing channels `turnwright:run`, `turnwright:iteration` and `turnwright:tool` of
 * `node:diagnostics_channel`. Each thing publishes `start` and `end` when it begins, and `asyncStart` and `asyncEnd` when it is over,
 * `error` before them where it failed, all with one object that is filled in at the end. Stores that are bound to `start` are there in
 * the streams and tools that are inside: those of the run in all of them, those of a call in its tool.
 *
 * A run that nobody listens to when it begins publishes nothing, and costs next to nothing. With `withTracing`, wrap around it:
 * `withDiagnostics(withTracing(options))`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" for `diagnostics`.
 *
 * Source: nodejs.org/api/diagnostics_channel.html#class-tracingchannel.
 *
 * @example
 * import { subscribe } from "node:diagnostics_channel";
 * subscribe(`tracing:${toolChannel}:asyncEnd`, (message) => console.log(message));
 * await runToolLoop(withDiagnostics({ provider, tools, messages }));
 */
export function withDiagnostics<Output = unknown>(
  options: LoopOptions<Output>,
  diagnostics: DiagnosticsOptions = {},
): LoopOptions<Output> {
  checkFields("diagnostics", diagnostics, checks);
  const { captureContent = false } = diagnostics;
  return observeRun(options, {
    hears: heardEvents,
    start: (run) => (isAnyHeard() ? new RunChannels(run, { captureContent }) : undefined),
  });
}
