import { type Checks, is, oneOf } from "../core/entry-kit.ts";
import type { OnError } from "../core/web-kit.ts";
import type { UIVersion } from "./ui-message-chunk.ts";

/** How a run is shown as a message. */
export interface UIMessageOptions {
  /** The major version of `ai` in the page. Default 6. */
  readonly version?: UIVersion | undefined;
  /**
   * "start" sends everything, for a page that has nothing of the message yet: a new message, or a reload. "live" leaves out what is
   * recalled from the journal, for a page that goes on with its own message after an approval or a result. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** The id of the message. It must be the same for all streams of a run. Default: the `runId`. */
  readonly messageId?: string | undefined;
  /** False leaves reasoning out. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /** Fields to add to the metadata of the message. Default none. */
  readonly metadata?: { readonly [field: string]: unknown } | undefined;
  /**
   * Returns the text that the page shows for a failure. Default: neutral texts, because messages of errors may hold secrets. If it
   * throws, the neutral text is used.
   */
  readonly onError?: OnError | undefined;
  /**
   * Versions 5 and 6 cannot take text back. If true, output of an attempt that a wrapping provider may discard is sent once the
   * attempt stands. If false, it is sent at once; a discarded attempt then stays visible, followed by a `data-attempt-discarded` part.
   * Set it to false if nothing but `withRetry` wraps the provider: it discards only attempts without output. Default true. No effect
   * in version 7.
   */
  readonly holdAttempts?: boolean | undefined;
}

/** The checks of the options, for `checkFields`. */
export const messageChecks: Checks<UIMessageOptions> = {
  version: ["5, 6 or 7", (value) => value === 5 || value === 6 || value === 7],
  from: oneOf("start", "live"),
  messageId: is.name,
  sendReasoning: is.flag,
  metadata: is.object,
  onError: is.fn,
  holdAttempts: is.flag,
};
