import { type Checks, is } from "../core/kit.ts";
import type { OnError } from "../web/page-values.ts";
import type { UIVersion } from "./ui-message-chunk.ts";

/** Options that control how `useChat` pages show a run. */
export interface UIMessageOptions {
  /** The major version of the `ai` package that the page uses. Default 6. */
  readonly version?: UIVersion | undefined;
  /**
   * "start" sends all events, for a new message or a reloaded page. "live" omits replayed events. Use "live" if the page still
   * shows the first part of the message, for example after a decision. Default "start".
   */
  readonly from?: "start" | "live" | undefined;
  /** The id of the UI message. Use the same id for all streams of a run. Default: the `runId`. */
  readonly messageId?: string | undefined;
  /** Set to false to omit reasoning. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /** Fields to add to the metadata of the UI message. Default: no fields. */
  readonly metadata?: { readonly [field: string]: unknown } | undefined;
  /**
   * Returns the message that the page shows for a failure. If `onError` throws, the page shows a neutral message. Default: neutral
   * messages, because error messages may contain secrets.
   */
  readonly onError?: OnError | undefined;
  /**
   * Versions 5 and 6 of the AI SDK cannot remove text from a page. If true, the stream holds back the output of an attempt while a wrapping
   * provider, such as `withFallback`, may still discard the attempt. If false, the stream sends output immediately. The output of
   * a discarded attempt then stays visible, and a `data-attempt-discarded` part follows. Output from `withRetry`, and from the last
   * provider in `withFallback`, is never discarded, so the stream always sends it immediately. No effect in version 7. Default
   * true.
   */
  readonly holdAttempts?: boolean | undefined;
}

export const messageChecks: Checks<UIMessageOptions> = {
  version: ["5, 6 or 7", (value) => value === 5 || value === 6 || value === 7],
  from: ["start", "live"],
  messageId: is.name,
  sendReasoning: is.flag,
  metadata: is.object,
  onError: is.fn,
  holdAttempts: is.flag,
};
