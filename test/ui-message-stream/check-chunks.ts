// What holds for the chunks of every stream.

import { expect } from "vitest";
import type { LoopEvent } from "turnwright";
import { createUIMessageMapper, type UIMessageChunk } from "turnwright/ui-message-stream";

type Options = Parameters<typeof createUIMessageMapper>[0];

/** Maps events to chunks, all at once. */
export function toChunks(events: readonly LoopEvent[], options: Options = {}): readonly UIMessageChunk[] {
  const mapper = createUIMessageMapper(options);
  return [...events.flatMap((event) => mapper.map(event)), ...mapper.end()];
}

/** Checks that starts and ends pair up, that the first chunk begins the message, and that the last one finishes it. */
export function checkPairs(chunks: readonly UIMessageChunk[]): void {
  expect(chunks[0]?.type).toBe("start");
  expect(chunks.at(-1)?.type).toBe("finish");
  expect(chunks.filter(({ type }) => type === "start" || type === "finish")).toHaveLength(2);
  const open = new Set<string>();
  const used = new Set<string>();
  for (const chunk of chunks) {
    const { type } = chunk;
    if (type === "start-step") {
      expect(open).toEqual(new Set());
      open.add("step");
    } else if (type === "finish-step") {
      expect(open).toEqual(new Set(["step"]));
      open.delete("step");
    } else if (type === "reset-step") {
      for (const name of open) if (name !== "step") open.delete(name);
      used.clear();
    } else if (type === "text-start" || type === "reasoning-start") {
      expect(used).not.toContain(chunk.id);
      used.add(chunk.id);
      open.add(chunk.id);
    } else if (type === "text-delta" || type === "reasoning-delta") expect(open).toContain(chunk.id);
    else if (type === "text-end" || type === "reasoning-end") expect(open.delete(chunk.id)).toBe(true);
  }
  expect(open).toEqual(new Set());
}
