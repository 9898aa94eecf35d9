import type { EndReason, LoopEvents } from "../core/index.ts";
import { failedStatuses, toFailureText } from "../web/page-values.ts";
import type { UIFinishReason, UIMessageChunk, UIMessageMetadata, UIReason, UIVersion } from "./ui-message-chunk.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";

type RunEnd = LoopEvents["run-end"];

/** Fields of an end reason that are sent to the page. None of them contains an error message or text from a person. */
const shown = ["count", "limit", "limitUSD", "spentUSD", "expectedUSD", "spent", "toolName", "why", "limitMs"];

/** Returns the last chunks of a finished run's message. The metadata precedes an `error` chunk, because the page stops reading there. */
export function toEndingChunks(end: RunEnd, options: UIMessageOptions): readonly UIMessageChunk[] {
  const { status, reason } = end;
  const messageMetadata = toMetadata(end, options);
  const finish = { type: "finish", finishReason: toFinishReason(end, options.version ?? 6), messageMetadata } as const;
  if (failedStatuses.has(status)) {
    const errorText = toFailureText({ kind: "run", status, reason }, options.onError);
    return [{ type: "message-metadata", messageMetadata }, { type: "error", errorText }, finish];
  }
  return status === "stopped-by-user" ? [{ type: "abort", reason: reason.kind }, finish] : [finish];
}

/** Returns the last chunks of the message if the source ended before `run-end`, or threw the error in `failure`. */
export function toBrokenChunks(options: UIMessageOptions, failure?: { readonly error: unknown }): readonly UIMessageChunk[] {
  if (failure === undefined) return [{ type: "finish", finishReason: cutOff(options.version ?? 6) }];
  const errorText = toFailureText({ kind: "thrown", error: failure.error }, options.onError);
  return [
    { type: "error", errorText },
    { type: "finish", finishReason: "error" },
  ];
}

export function toMetadata(
  { status, reason, usage, costUSD }: Pick<RunEnd, "status" | "reason" | "usage" | "costUSD">,
  { metadata }: Pick<UIMessageOptions, "metadata">,
): UIMessageMetadata {
  return { ...metadata, status, reason: toReason(reason), usage, ...(costUSD !== undefined && { costUSD }) };
}

function toReason(reason: EndReason): UIReason {
  const fields = Object.entries(reason).filter(([field, value]) => shown.includes(field) && value !== undefined);
  return { kind: reason.kind, ...Object.fromEntries(fields) };
}

function toFinishReason({ status, reason }: RunEnd, version: UIVersion): UIFinishReason {
  if (failedStatuses.has(status)) return "error";
  if (reason.kind === "length") return "length";
  if (reason.kind === "refusal" || reason.kind === "content-filter") return "content-filter";
  if (status === "completed") return "stop";
  return "calls" in reason ? "tool-calls" : cutOff(version);
}

/**
 * Returns the finish reason for an incomplete message. In version 7 of the AI SDK, it is "interrupted", after which pages do not
 * automatically continue the run.
 */
function cutOff(version: UIVersion): UIFinishReason {
  return version === 7 ? "interrupted" : "other";
}
