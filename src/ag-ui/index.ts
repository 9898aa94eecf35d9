// The `turnwright/ag-ui` entry point: shows runs in web UIs that use the AG-UI protocol, such as CopilotKit and TanStack AI.

export type { PageFailure } from "../web/page-values.ts";
export { isRequestError, RequestError } from "../web/read-request-body.ts";
export type { AGUIEvent, AGUIMessage } from "./ag-ui-event.ts";
export type { AGUIOptions } from "./ag-ui-options.ts";
export { type AGUIMapper, createAGUIMapper } from "./create-ag-ui-mapper.ts";
export { type AGUIRequest, readAGUIRequest } from "./read-ag-ui-request.ts";
export { pipeAGUIStream, toAGUIResponse, toAGUIStream } from "./to-ag-ui-stream.ts";
export { toAGUIMessages } from "./to-ag-ui-messages.ts";
export { toAGUIThread, type AGUIThread } from "./to-ag-ui-thread.ts";
