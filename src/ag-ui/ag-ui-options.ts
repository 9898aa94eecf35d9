import { type Checks, is } from "../core/kit.ts";
import type { OnError } from "../web/page-values.ts";
import type { SSEOptions } from "../web/sse-lines.ts";
import type { AGUIMessage, AGUIVersion } from "./ag-ui-event.ts";

/** Options for converting a run to AG-UI events. */
export interface AGUIOptions {
  /**
   * The AG-UI protocol version of the web page: "1.0" for `@ag-ui/client` 1.0, and "0.0" for `@ag-ui/client` 0.0, CopilotKit and TanStack
   * AI. With "0.0", nested runs are sent as `CUSTOM` events. Default "1.0".
   */
  readonly version?: AGUIVersion | undefined;
  /** The `threadId` from the AG-UI request. Default: the run's `runId`. */
  readonly threadId?: string | undefined;
  /**
   * The `runId` from the AG-UI request. The client uses this id to match events to the request. Default: the run's `runId`.
   */
  readonly runId?: string | undefined;
  /**
   * "start" sends all events, for a new run or a reloaded page. "live" omits replayed events. Use "live" after the user has answered
   * an interrupt, if the page still shows the first part of the run. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /**
   * The conversation before this run, from `toAGUIMessages(await host.status(threadId))`. Sent in a `MESSAGES_SNAPSHOT` at the start of
   * the run, so that a client that already shows a part of the run does not show it twice
   * (github.com/ag-ui-protocol/ag-ui/issues/1524). Default: no snapshot is sent.
   */
  readonly messages?: readonly AGUIMessage[] | undefined;
  /** Set to false to omit reasoning. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /**
   * AG-UI has no event that removes text from a page. If true, the stream holds back an attempt's output while a wrapping provider, such as
   * `withFallback`, may still discard it. If false, the stream sends output immediately. The output of a discarded attempt then stays
   * visible, and a `CUSTOM` event named `attempt-discarded` follows. Output from `withRetry`, and from the last provider in `withFallback`,
   * is never discarded, so the stream always sends it immediately. Default true.
   */
  readonly holdAttempts?: boolean | undefined;
  /**
   * Returns the message that the page shows for a failure. If `onError` throws, the page shows a neutral message. Default: neutral
   * messages, because error messages may contain secrets.
   */
  readonly onError?: OnError | undefined;
}

/** Options for sending a run to a page as an HTTP response. */
export interface AGUIResponseOptions extends AGUIOptions, SSEOptions {
  /**
   * The id of the last event that the page has received, as returned by `lastEventId(request)` from `turnwright/host`. Only later
   * events are sent. `events` must begin at the start of the run, as with `host.join(id)`. If the id does not belong to these
   * events, for example after a server restart, the only event is `RUN_ERROR` with the code "restarted". The page must
   * then load the thread again. Default: all events are sent.
   */
  readonly after?: string | undefined;
}

export const optionChecks: Checks<AGUIOptions> = {
  version: ["1.0", "0.0"],
  threadId: is.name,
  runId: is.name,
  from: ["start", "live"],
  messages: ["an array of AG-UI messages", Array.isArray],
  sendReasoning: is.flag,
  holdAttempts: is.flag,
  onError: is.fn,
};
