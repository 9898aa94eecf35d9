// #region frame
import type { LoopEvent } from "turnwright";

export const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" } as const;

/** Returns undefined for events that the client must not see, such as errors and tool results. */
export function toFrame(event: LoopEvent): string | undefined {
  const { type, path } = event;
  if (path !== undefined) return undefined; // of an agent's nested run
  if (type === "text-delta") return frame({ type, text: event.text });
  if (type === "tool-start") return frame({ type, name: event.name });
  if (type === "run-end") return frame({ type, status: event.status, reason: event.reason.kind });
  return undefined;
}

const frame = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
// #endregion frame
