// The entry `turnwright/ui-message-stream`: shows runs on pages that use `useChat` of AI SDK 5, 6 or 7.

export {
  type EventItem,
  type EventMapper,
  isRequestError,
  type NodeRequest,
  type NodeResponse,
  type OnError,
  type PageMessage,
  RequestError,
  type RequestLimits,
  type SSEOptions,
  type UIFailure,
  type OutsideResult,
} from "../core/web-kit.ts";
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
} from "./ui-message-chunk.ts";
export { fromUIMessages, type FromUIOptions } from "./from-ui-messages.ts";
export type { HistoryProvider, LostContent, ReadHistory } from "../core/history-kit.ts";
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
