// The meaning of every way to end a stream, on all services.

import type { FinishReason, ProviderErrorCode } from "turnwright";
import type { End } from "./scripted.ts";

/** The content before the end: a text, nothing, or a text and two calls. */
export type Content = "text" | "nothing" | "calls";

/** One way to end. */
export type FinishRow = {
  /** The finish reason or the error of the provider. Undefined if there is no finish. */
  readonly finish: FinishReason | ProviderErrorCode | undefined;
  /** The same with calls. Default: the same. */
  readonly finishWithCalls?: FinishReason;
} & {
  /** The outcomes of the calls, if any, the ending of the run, and the number of requests. The answer to the second request is a text. */
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
// The next response is final, but its message still contains the calls of the first response.
const goesOn = { text: "completed answered, 2", nothing: "completed answered, 2", calls: "not-run, error finish-unknown, 2" };

/** The row of each end. */
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
