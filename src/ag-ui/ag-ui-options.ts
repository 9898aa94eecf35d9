import { type Checks, is, oneOf } from "../core/entry-kit.ts";
import type { OnError, SSEOptions } from "../core/web-kit.ts";
import type { AGUIVersion } from "./ag-ui-event.ts";

/** The options for showing a run with AG-UI. */
export interface AGUIOptions {
  /**
   * The protocol version of the page: "1.0" for `@ag-ui/client` 1.0, "0.0" for `@ag-ui/client` 0.0, CopilotKit and TanStack AI. In "0.0",
   * nested runs are shown by `CUSTOM` events. Default "1.0".
   */
  readonly version?: AGUIVersion | undefined;
  /** The `threadId` of the request. Default: the `runId` of the run. */
  readonly threadId?: string | undefined;
  /** The `runId` of the request, by which the client matches events to its request. Default: the `runId` of the run. */
  readonly runId?: string | undefined;
  /**
   * "start" sends all events, for a new run or a reloaded page. "live" omits replayed events, for a page that already shows the first part
   * of the run and has answered an interrupt. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** Set to false to omit reasoning. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /**
   * True to hold back the output of an attempt until a wrapping provider, such as `withFallback`, can no longer discard it. AG-UI cannot
   * remove text. If false, output is sent immediately. Output of a discarded attempt then stays visible, and a `CUSTOM` event
   * `attempt-discarded` follows. Default true. No effect for output that cannot be discarded: output
   * of `withRetry`, and of the last provider of `withFallback`.
   */
  readonly holdAttempts?: boolean | undefined;
  /**
   * Returns the text that the page shows for a failure. If it throws an error, the neutral text is used. Default: neutral texts, because
   * error messages may contain secrets.
   */
  readonly onError?: OnError | undefined;
}

/** The options for sending a run to a page. */
export interface AGUIResponseOptions extends AGUIOptions, SSEOptions {
  /**
   * The id of the last event that the page has, from `lastEventId(request)` of `turnwright/host`. Only later events are sent. The source
   * must begin at the start of the run, like the reader from `host.join(id)`. If the id belongs to another source, for example after a
   * restart of the server, the only event is `RUN_ERROR` with the code "restarted". The page must then load the thread again.
   * Default: all events are sent.
   */
  readonly after?: string | undefined;
}

export const optionChecks: Checks<AGUIOptions> = {
  version: oneOf("1.0", "0.0"),
  threadId: is.name,
  runId: is.name,
  from: oneOf("start", "live"),
  sendReasoning: is.flag,
  holdAttempts: is.flag,
  onError: is.fn,
};
