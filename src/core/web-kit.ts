// Internal exports of the core, which only the entries for web pages use. These exports have a file of their own, so that other
// bundles do not include them.

export { ChunkBatches, type EventItem, type EventMapper, toChunkStream } from "../web/chunk-batches.ts";
export { failedStatuses, type OnError, toFailureText, type UIFailure } from "../web/page-values.ts";
export { isRequestError, type NodeRequest, readRequestBody, refuseDeep, RequestError } from "../web/read-request-body.ts";
export { addToCost, isWaiting, mayBeDiscarded, noCost, type PageCost, toCallPath, toPlain } from "../web/page-values.ts";
export { type PageMessage, readId, readUserMessage, requestChecks, type RequestLimits } from "../web/read-user-message.ts";
export type { OutsideResult } from "./types/policies.ts";
export {
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  type SSEOptions,
  toByteStream,
  toLineResponse,
} from "../web/sse-lines.ts";
