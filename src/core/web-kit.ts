// Internal exports of the core for the entries for web pages. Separate from the other exports, so that no other bundle includes
// them.

export { ChunkBatches, type EventItem, type EventMapper, toChunkStream } from "./web/chunk-batches.ts";
export { failedStatuses, type OnError, toFailureText, type UIFailure } from "./web/failure-text.ts";
export { mayBeDiscarded } from "./web/may-be-discarded.ts";
export { type NodeRequest, readRequestBody, refuseDeep } from "./web/read-request-body.ts";
export { readId, readUserMessage, requestChecks, type RequestLimits } from "./web/read-user-message.ts";
export { isWaiting, toCallPath } from "./web/waiting-calls.ts";
export type { OutsideResult } from "./types/policies.ts";
export { isRequestError, RequestError } from "./web/request-error.ts";
export { type NodeResponse, pipeLines, toByteStream, toLineResponse } from "./web/send-lines.ts";
export { toPlain } from "./web/to-plain.ts";
export { sseChecks, SSELines, type SSEOptions } from "./web/sse-lines.ts";
