import { type Checks, is, oneOf } from "../core/entry-kit.ts";
import type { OnError, SSEOptions } from "../core/web-kit.ts";
import type { AGUIVersion } from "./ag-ui-event.ts";

/** The options for showing a run with AG-UI. */
export interface AGUIOptions {
  /**
   * The protocol version of the page: "1.0" for `@ag-ui/client` 1.0, and "0.0" for `@ag-ui/client` 0.0, CopilotKit and TanStack
   * AI. In "0.0", `CUSTOM` events show nested runs. Default "1.0".
   */
  readonly version?: AGUIVersion | undefined;
  /** The `threadId` from the AG-UI request. Default: the `runId` of the run. */
  readonly threadId?: string | undefined;
  /** The `runId` from the AG-UI request, by which the client matches events to its request. Default: the `runId` of the run. */
  readonly runId?: string | undefined;
  /**
   * "start" sends all events, for a new run or a reloaded page. "live" omits replayed events, for a page that still shows the
   * first part of the run after it answered an interrupt. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** Set to false to omit reasoning. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /**
   * True to hold back the output of an attempt until a wrapping provider, such as `withFallback`, can no longer discard the
   * attempt. AG-UI cannot remove text. If false, output is sent immediately, the output of a discarded attempt stays visible, and
   * a `CUSTOM` event `attempt-discarded` follows. Output of `withRetry`, and of the last provider of `withFallback`, is never
   * discarded, so it is always sent immediately. Default true.
   */
  readonly holdAttempts?: boolean | undefined;
  /**
   * Returns the text that the page shows for a failure. If `onError` throws, a neutral text is shown. Default: neutral texts,
   * because error messages may contain secrets.
   */
  readonly onError?: OnError | undefined;
}

/** The options for sending a run to a page as an HTTP response. */
export interface AGUIResponseOptions extends AGUIOptions, SSEOptions {
  /**
   * The id of the last event that the page has received, from `lastEventId(request)` of `turnwright/host`. Only later events are
   * sent. The source must begin at the start of the run, like the reader from `host.join(id)`. If the id belongs to another
   * source, for example after a restart of the server, the only event is `RUN_ERROR` with the code "restarted". The page must
   * then load the thread again. Default: all events are sent.
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
