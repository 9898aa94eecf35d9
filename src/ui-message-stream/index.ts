// The entry `turnwright/ui-message-stream`: runs on a page that uses `useChat` of the AI SDK 5, 6 or 7.

export { createUIMessageMapper, type UIEventItem, type UIMessageMapper } from "./create-ui-message-mapper.ts";
export { pipeUIMessageStream, type UINodeResponse } from "./pipe-ui-message-stream.ts";
export type { UINodeRequest } from "./read-request-body.ts";
export { readUIChatRequest, type UIChatRequest, type UIChatRequestOptions, type UIResult } from "./read-ui-chat-request.ts";
export { toUIMessageStreamResponse } from "./to-ui-message-stream-response.ts";
export { toUIMessageStream } from "./to-ui-message-stream.ts";
export type { UIResponseOptions } from "./ui-event-lines.ts";
export type {
  UIApproval,
  UICost,
  UIDataChunk,
  UIExecuted,
  UIFinishReason,
  UIMasked,
  UIMessageChunk,
  UIMessageMetadata,
  UINestedCall,
  UINestedProgress,
  UINestedRun,
  UIReason,
  UISteeringPart,
  UIVersion,
} from "./ui-message-chunk.ts";
export type { UIFailure, UIMessageOptions } from "./ui-message-options.ts";
export { isUIRequestError, UIRequestError } from "./ui-request-error.ts";
