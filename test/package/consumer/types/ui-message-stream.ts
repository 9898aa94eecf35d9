// A server for pages that use `useChat`.

import { type Message, streamToolLoop, type LoopOptions } from "turnwright";
import {
  readUIChatRequest,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIMessageChunk,
  type UIMessageOptions,
} from "turnwright/ui-message-stream";

/** Responds to one request with the chunks of a run. */
export async function answer(request: Request, run: Omit<LoopOptions, "messages">): Promise<Response> {
  const { message, decisions } = await readUIChatRequest(request, { maxFiles: 3 });
  const messages: readonly Message[] = message === undefined ? [] : [message];
  return toUIMessageStreamResponse(streamToolLoop({ ...run, messages, decisions }), { version: 7, keepAliveMs: 10_000 });
}

/** Returns the chunks of a run as a stream. */
export function stream(options: LoopOptions, how: UIMessageOptions): ReadableStream<UIMessageChunk> {
  return toUIMessageStream(streamToolLoop(options), how);
}
