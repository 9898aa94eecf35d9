// The `turnwright/ui-message-stream` entry point: shows runs in web UIs that use `useChat` from AI SDK 5, 6 or 7.

export type { PageFailure } from "../web/page-values.ts";
export { isRequestError, RequestError } from "../web/read-request-body.ts";
export type { ReadHistory } from "../shared/history/read-history.ts";
export { createUIMessageMapper, type UIMessageMapper } from "./create-ui-message-mapper.ts";
export { readUIChatRequest, type UIChatRequest } from "./read-ui-chat-request.ts";
export { pipeUIMessageStream, toUIMessageStream, toUIMessageStreamResponse } from "./to-ui-message-stream.ts";
export type { UIMessageChunk } from "./ui-message-chunk.ts";
export type { UIMessageOptions } from "./ui-message-options.ts";
export { fromUIMessages } from "./from-ui-messages.ts";
export { toUIMessages, type UIHistory, type UIMessage, type UIMessagePart } from "./to-ui-messages.ts";
