import { type Message, streamToolLoop, type LoopOptions } from "turnwright";
import {
  readUIChatRequest,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIMessageChunk,
} from "turnwright/ui-message-stream";

export async function answer(request: Request, run: Omit<LoopOptions, "messages">): Promise<Response> {
  const { message, answers } = await readUIChatRequest(request, { maxFiles: 3 });
  const messages: readonly Message[] = message === undefined ? [] : [message];
  return toUIMessageStreamResponse(streamToolLoop({ ...run, messages, answers }), { version: 7, keepAliveMs: 10_000 });
}

export function stream(options: LoopOptions, how: Parameters<typeof toUIMessageStream>[1]): ReadableStream<UIMessageChunk> {
  return toUIMessageStream(streamToolLoop(options), how);
}
