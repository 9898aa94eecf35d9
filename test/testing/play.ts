import type { ModelCall, ModelChunk, ModelRequest, Provider } from "turnwright";
import { createTestClock, type TestClock } from "turnwright/testing";

export const request: ModelRequest = { messages: [{ role: "user", content: "Hi" }], tools: [], iteration: 0 };

/** Creates a call as the loop would make it, with its clock, its signal, and the times of its heartbeats. */
export function setUp(): {
  readonly clock: TestClock;
  readonly abort: AbortController;
  readonly call: ModelCall;
  readonly heartbeats: readonly number[];
} {
  const clock = createTestClock();
  const abort = new AbortController();
  const heartbeats: number[] = [];
  const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, toolCleanupMs: 1, approvalMs: 1, callbackMs: 1 };
  const call = { signal: abort.signal, heartbeat: () => void heartbeats.push(clock.now()), iteration: 0, clock, timeouts };
  return { clock, abort, call, heartbeats };
}

export async function play(
  provider: Provider,
  asked: ModelRequest = request,
  call: ModelCall = setUp().call,
): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  for await (const played of provider.stream(asked, call)) chunks.push(played);
  return chunks;
}
