import type { FinishReason, ProviderErrorCode } from "turnwright";
import type { End } from "./scripted.ts";

/** The content of the message: a text, nothing, or a text with two calls. */
export type Content = "text" | "nothing" | "calls";

export type FinishRow = {
  /** The finish reason or the error code that the provider reports. Undefined if the stream has neither. */
  readonly finish: FinishReason | ProviderErrorCode | undefined;
  /** The finish reason of a message with calls. Default: the value of `finish`. */
  readonly finishWithCalls?: FinishReason;
} & {
  /**
   * How the run ends for each content. The text has the outcomes of the calls, the status and reason of the run, and the number of
   * requests. The second response is always a text.
   */
  readonly [Name in Content]: string;
};

const failed = (code: ProviderErrorCode): Pick<FinishRow, Content> => ({
  text: `error ${code}, 1`,
  nothing: `error ${code}, 1`,
  calls: `not-run, error ${code}, 1`,
});
const declined = (kind: "refusal" | "content-filter"): FinishRow => ({
  finish: kind,
  text: `completed ${kind}, 1`,
  nothing: `completed ${kind}, 1`,
  calls: `not-run, completed ${kind}, 1`,
});
const cut = { text: "completed length, 1", nothing: "error no-output, 1", calls: "truncated, completed answered, 2" };
// The second response continues the same message, so that message still has the calls of the first response.
const goesOn = { text: "completed answered, 2", nothing: "completed answered, 2", calls: "not-run, error finish-unknown, 2" };

export const finishRows: { readonly [Name in End]: FinishRow } = {
  stop: {
    finish: "stop",
    finishWithCalls: "tool-calls",
    text: "completed answered, 1",
    nothing: "empty-response empty, 1",
    calls: "completed, completed answered, 2",
  },
  tools: {
    finish: "tool-calls",
    text: "completed answered, 1",
    nothing: "error no-output, 1",
    calls: "completed, completed answered, 2",
  },
  length: { finish: "length", ...cut },
  "context-full": { finish: "context-full", ...cut },
  "content-filter": declined("content-filter"),
  refusal: declined("refusal"),
  paused: { finish: "paused", ...goesOn },
  continue: { finish: "continue", ...goesOn },
  "malformed-call": {
    finish: "malformed-call",
    text: "completed answered, 2",
    nothing: "completed answered, 2",
    calls: "malformed, completed answered, 2",
  },
  error: { finish: "error", ...failed("finish-error") },
  unknown: { finish: "unknown", ...failed("finish-unknown") },
  lost: { finish: undefined, ...failed("stream-ended-early") },
  dropped: { finish: "network", ...failed("network") },
  broken: { finish: "overloaded", ...failed("overloaded") },
};
