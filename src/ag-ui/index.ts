// The entry `turnwright/ag-ui`: shows runs on pages that use the AG-UI protocol, for example with CopilotKit or TanStack AI.

export type { EventItem, EventMapper } from "../web/chunk-batches.ts";
export { isRequestError, type NodeRequest, RequestError } from "../web/read-request-body.ts";
export type { NodeResponse, SSEOptions } from "../web/sse-lines.ts";
export type { OnError, UIFailure } from "../web/page-values.ts";
export type { RequestLimits } from "../web/read-user-message.ts";
export type { OutsideResult } from "../core/kit.ts";
export type {
  AGUIAttribution,
  AGUICustomName,
  AGUIDelta,
  AGUIEvent,
  AGUIInterrupt,
  AGUIOutcome,
  AGUIPartEvent,
  AGUIRunIds,
  AGUIRunResult,
  AGUIUsage,
  AGUIVersion,
} from "./ag-ui-event.ts";
export type { AGUIOptions, AGUIResponseOptions } from "./ag-ui-options.ts";
export { type AGUIMapper, createAGUIMapper } from "./create-ag-ui-mapper.ts";
export { type AGUIRequest, readAGUIRequest } from "./read-ag-ui-request.ts";
export { pipeAGUIStream, toAGUIResponse, toAGUIStream } from "./to-ag-ui-stream.ts";
export { toAGUIMessages, type AGUIContentPart, type AGUIMessage, type AGUIToolCall } from "./to-ag-ui-messages.ts";
export {
  toAGUIThread,
  type AGUIThread,
  type AGUIThreadMessage,
  type AGUIThreadPart,
  type AGUIThreadStatus,
} from "./to-ag-ui-thread.ts";
