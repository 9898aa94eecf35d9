// The entry `turnwright/diagnostics`.

export { passChannel, runChannel, toolChannel } from "./channels.ts";
export type { PassMessage, RunMessage, ToolMessage } from "./channels.ts";
export { withDiagnostics } from "./with-diagnostics.ts";
export type { DiagnosticsOptions } from "./with-diagnostics.ts";
