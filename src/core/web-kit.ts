// Internal exports of the core for the entries for web pages. Separate from the other exports, so that no other bundle includes
// them.

export { ChunkBatches, type EventItem, type EventMapper, toChunkStream } from "./web/chunk-batches.ts";
export { failedStatuses, type OnError, toFailureText, type UIFailure } from "./web/page-values.ts";
export { isRequestError, type NodeRequest, readRequestBody, refuseDeep, RequestError } from "./web/read-request-body.ts";
export { addToCost, isWaiting, mayBeDiscarded, noCost, type PageCost, toCallPath, toPlain } from "./web/page-values.ts";
export { readId, readUserMessage, requestChecks, type RequestLimits } from "./web/read-user-message.ts";
export type { OutsideResult } from "./types/policies.ts";
export {
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  type SSEOptions,
  toByteStream,
  toLineResponse,
} from "./web/sse-lines.ts";
