import { expect } from "vitest";
import type { LoopEvent } from "turnwright";
import { createUIMessageMapper, type UIMessageChunk } from "turnwright/ui-message-stream";

type Options = Parameters<typeof createUIMessageMapper>[0];

export function toChunks(events: readonly LoopEvent[], options: Options = {}): readonly UIMessageChunk[] {
  const mapper = createUIMessageMapper(options);
  return [...events.flatMap((event) => mapper.map(event)), ...mapper.end()];
}

export function checkPairs(chunks: readonly UIMessageChunk[]): void {
  expect(chunks[0]?.type).toBe("start");
  expect(chunks.at(-1)?.type).toBe("finish");
  expect(chunks.filter(({ type }) => type === "start" || type === "finish")).toHaveLength(2);
  const open = new Set<string>();
  const used = new Set<string>();
  for (const chunk of chunks) {
    const { type } = chunk;
    if (type.endsWith("-step")) checkStep(type, open, used);
    else if ("id" in chunk && /^(text|reasoning)-/.test(type)) checkText({ type, id: chunk.id ?? "" }, open, used);
  }
  expect(open).toEqual(new Set());
}

type Names = Set<string>;

function checkStep(type: string, open: Names, used: Names): void {
  if (type === "reset-step") {
    for (const name of open) if (name !== "step") open.delete(name);
    used.clear();
    return;
  }
  expect(open).toEqual(new Set(type === "start-step" ? [] : ["step"]));
  if (type === "start-step") open.add("step");
  else open.delete("step");
}

function checkText({ type, id }: { readonly type: string; readonly id: string }, open: Names, used: Names): void {
  if (type.endsWith("-start")) {
    expect(used).not.toContain(id);
    used.add(id);
    open.add(id);
  } else if (type.endsWith("-delta")) expect(open).toContain(id);
  else expect(open.delete(id)).toBe(true);
}
