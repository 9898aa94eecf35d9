import type { ModelChunk } from "../../src/core/index.ts";

/** Throws if an event is an `Error`. Calls `onLeft` if the reader stops before the last event. */
export async function* streamScript(
  events: readonly unknown[],
  onLeft: () => void = () => {},
): AsyncGenerator<unknown, void, undefined> {
  let ended = false;
  try {
    for (const event of events) {
      ended = event instanceof Error;
      if (ended) throw event;
      yield event;
    }
    ended = true;
  } finally {
    if (!ended) onLeft();
  }
}

export async function collect(
  stream: AsyncIterable<ModelChunk>,
): Promise<{ readonly chunks: readonly ModelChunk[]; readonly thrown: unknown }> {
  const chunks: ModelChunk[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
    return { chunks, thrown: undefined };
  } catch (thrown) {
    return { chunks, thrown };
  }
}
