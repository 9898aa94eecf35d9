import { type Message, streamToolLoop, type LoopOptions } from "turnwright";
import { type AGUIEvent, type AGUIThread, readAGUIRequest, toAGUIResponse, toAGUIStream, toAGUIThread } from "turnwright/ag-ui";
import { lastEventId, type RunHost } from "turnwright/host";

export async function answer(request: Request, run: Omit<LoopOptions, "messages">): Promise<Response> {
  const { threadId, runId, message, answers } = await readAGUIRequest(request, { maxFiles: 3 });
  const messages: readonly Message[] = message === undefined ? [] : [message];
  return toAGUIResponse(streamToolLoop({ ...run, messages, answers }), { threadId, runId, keepAliveMs: 10_000 });
}

export function join(host: RunHost, id: string, request: Request): Response {
  return toAGUIResponse(host.join(id), { version: "0.0", after: lastEventId(request) });
}

export async function load(host: RunHost, id: string): Promise<AGUIThread> {
  return toAGUIThread(await host.status(id));
}

export function stream(options: LoopOptions, how: Parameters<typeof toAGUIStream>[1]): ReadableStream<AGUIEvent> {
  return toAGUIStream(streamToolLoop(options), how);
}
