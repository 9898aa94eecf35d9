// The entry `turnwright/ui-message-stream`: shows runs on pages that use `useChat` of AI SDK 5, 6 or 7.

export type { EventItem, EventMapper } from "../web/chunk-batches.ts";
export { isRequestError, type NodeRequest, RequestError } from "../web/read-request-body.ts";
export type { NodeResponse, SSEOptions } from "../web/sse-lines.ts";
export type { OnError, UIFailure } from "../web/page-values.ts";
export type { PageMessage, RequestLimits } from "../web/read-user-message.ts";
export type { OutsideResult } from "../core/kit.ts";
export type { HistoryProvider, ReadHistory } from "../shared/history/read-history.ts";
export type { LostContent } from "../shared/history/find-lost.ts";
export { createUIMessageMapper, type UIMessageMapper } from "./create-ui-message-mapper.ts";
export { readUIChatRequest, type UIChatRequest } from "./read-ui-chat-request.ts";
export {
  pipeUIMessageStream,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIResponseOptions,
} from "./to-ui-message-stream.ts";
export type {
  UIApproval,
  UICost,
  UIApprovalChunk,
  UICommonChunk,
  UIDataChunk,
  UIExecuted,
  UIEmittedMark,
  UIFinishReason,
  UILatestChunk,
  UICompaction,
  UIMasked,
  UIQuestion,
  UIMessageChunk,
  UIMessageMetadata,
  UINestedCall,
  UINestedProgress,
  UINestedRun,
  UIReason,
  UIUserPart,
  UIVersion,
  UIWait,
} from "./ui-message-chunk.ts";
export { fromUIMessages, type FromUIOptions } from "./from-ui-messages.ts";
export {
  toUIMessages,
  type UICalled,
  type UIDeniedPart,
  type UIHistory,
  type UIHistoryOptions,
  type UIMessage,
  type UIMessagePart,
  type UIToolPart,
  type UITurn,
} from "./to-ui-messages.ts";
export type { UIMessageOptions } from "./ui-message-options.ts";
