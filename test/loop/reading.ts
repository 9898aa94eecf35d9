// Starts runs whose events the test reads one by one. The model streams as fast as the test reads.

import { type LoopEvent, type LoopOptions, type LoopStream, type ModelChunk, type Provider, streamToolLoop } from "turnwright";
import { createMockProvider, createTestClock, type MockScript, type TestClock } from "turnwright/testing";

export interface Reading {
  readonly stream: LoopStream;
  readonly clock: TestClock;
  readonly iterator: AsyncIterator<LoopEvent>;
}

export function start(script: MockScript, more: Partial<LoopOptions> = {}): Reading {
  const clock = createTestClock();
  const stream = streamToolLoop({
    provider: createMockProvider(script),
    messages: [{ role: "user", content: "Go." }],
    clock,
    ...more,
  });
  return { stream, clock, iterator: stream[Symbol.asyncIterator]() };
}

export function chatter(
  letters: number,
  atEnd: () => PromiseLike<void> | void = () => {},
): { readonly provider: Provider; sent(): number } {
  let sent = 0;
  const provider: Provider = {
    id: "p",
    model: "m",
    async *stream(): AsyncIterable<ModelChunk> {
      while (sent < letters) {
        sent += 1;
        yield { type: "text-delta", text: "x" };
      }
      await atEnd();
      yield { type: "finish", reason: "stop" };
    },
  };
  return { provider, sent: () => sent };
}

export async function readAll(iterable: AsyncIterable<LoopEvent>): Promise<LoopEvent[]> {
  const events: LoopEvent[] = [];
  for await (const event of iterable) events.push(event);
  return events;
}

export async function readSome({ iterator }: Reading, count: number): Promise<void> {
  for (let read = 0; read < count; read += 1) await iterator.next();
}
