import type { Clock } from "../../core/index.ts";
import { sleep, untilFired } from "../scripted-stream.ts";
import type { Frame } from "./answer.ts";

interface PlayPorts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Yields the text of a response in pieces, and waits when the script says so. Throws when the script breaks the connection. */
export async function* playFrames(frames: readonly Frame[], ports: PlayPorts): AsyncGenerator<string, void, undefined> {
  for (const frame of frames) {
    ports.signal.throwIfAborted();
    if (typeof frame === "string") yield frame;
    else if (frame.kind === "end-early") return;
    else if (frame.kind === "wait") await sleep(ports, frame.ms);
    else if (frame.kind === "heartbeat") yield ": keep-alive\n\n";
    else if (frame.kind === "fail") throw frame.error;
    else await (frame.ignoreSignal ? new Promise<never>(() => {}) : untilFired(ports.signal));
  }
}

/** Creates a response body. Reads each piece of text only when the client needs it. */
export function toStream(texts: AsyncGenerator<string, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: () => void texts.return(),
  });
}
