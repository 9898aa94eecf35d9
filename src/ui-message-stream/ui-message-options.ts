import { type Checks, is, oneOf } from "../core/entry-kit.ts";
import type { OnError } from "../core/web-kit.ts";
import type { UIVersion } from "./ui-message-chunk.ts";

/** The options for showing a run as a UI message. */
export interface UIMessageOptions {
  /** The major version of the `ai` package in the page. Default 6. */
  readonly version?: UIVersion | undefined;
  /**
   * "start" sends all events, for a new message or a reloaded page. "live" omits replayed events, for a page that still shows the
   * first part of the message, for example after a decision. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** The id of the UI message. Use the same id for all streams of a run. Default: the `runId`. */
  readonly messageId?: string | undefined;
  /** Set to false to omit reasoning. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /** Fields to add to the metadata of the UI message. Default: no fields. */
  readonly metadata?: { readonly [field: string]: unknown } | undefined;
  /**
   * Returns the text that the page shows for a failure. If `onError` throws, a neutral text is shown. Default: neutral texts,
   * because error messages may contain secrets.
   */
  readonly onError?: OnError | undefined;
  /**
   * True to hold back the output of an attempt until a wrapping provider, such as `withFallback`, can no longer discard the
   * attempt. Versions 5 and 6 cannot remove text. If false, output is sent immediately, the output of a discarded attempt stays
   * visible, and a `data-attempt-discarded` part follows. Output of `withRetry`, and of the last provider of `withFallback`, is
   * never discarded, so it is always sent immediately. No effect in version 7. Default true.
   */
  readonly holdAttempts?: boolean | undefined;
}

export const messageChecks: Checks<UIMessageOptions> = {
  version: ["5, 6 or 7", (value) => value === 5 || value === 6 || value === 7],
  from: oneOf("start", "live"),
  messageId: is.name,
  sendReasoning: is.flag,
  metadata: is.object,
  onError: is.fn,
  holdAttempts: is.flag,
};
