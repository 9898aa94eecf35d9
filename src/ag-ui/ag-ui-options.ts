import { type Checks, is, oneOf } from "../core/entry-kit.ts";
import type { OnError, SSEOptions } from "../core/web-kit.ts";
import type { AGUIVersion } from "./ag-ui-event.ts";

/** How a run is shown. */
export interface AGUIOptions {
  /**
   * "1.0" for `@ag-ui/client` 1.0. "0.0" for `@ag-ui/client` 0.0 and for TanStack AI: runs inside calls are `CUSTOM` events then.
   * Default "1.0".
   */
  readonly version?: AGUIVersion | undefined;
  /** The thread of the request. Default: the `runId` of the run. */
  readonly threadId?: string | undefined;
  /** The run id of the request, which the client correlates by. Default: the `runId` of the run. */
  readonly runId?: string | undefined;
  /**
   * "start" sends everything, for a page that has nothing of the run yet: a new run, or a reload. "live" leaves out what is recalled,
   * for a page that goes on after it has answered an interrupt. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** False leaves reasoning out. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /**
   * AG-UI cannot take text back. If true, output of an attempt that a wrapping provider may discard is sent once the attempt stands.
   * If false, it is sent at once; a discarded attempt then stays visible, followed by a `CUSTOM` event `attempt-discarded`. Set it to
   * false if nothing but `withRetry` wraps the provider: it discards only attempts without output. Default true.
   */
  readonly holdAttempts?: boolean | undefined;
  /**
   * Returns the text that the page shows for a failure. Default: neutral texts, because messages of errors may hold secrets. If it
   * throws, the neutral text is used.
   */
  readonly onError?: OnError | undefined;
}

/** How a run is sent to a page. */
export interface AGUIResponseOptions extends AGUIOptions, SSEOptions {
  /**
   * The id of the last event that the page has: `lastEventId(request)` of `turnwright/host`. Only later events are sent. The source
   * has to begin with the run, as that of `host.join(id)` does. If
   * the id is not of this source, for example after a restart of the server, the answer is `RUN_ERROR` with the code "restarted", and the
   * page has to load the thread again. Default none.
   */
  readonly after?: string | undefined;
}

/** The checks of the options, for `checkFields`. */
export const optionChecks: Checks<AGUIOptions> = {
  version: oneOf("1.0", "0.0"),
  threadId: is.name,
  runId: is.name,
  from: oneOf("start", "live"),
  sendReasoning: is.flag,
  holdAttempts: is.flag,
  onError: is.fn,
};
