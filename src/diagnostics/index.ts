// The entry `turnwright/diagnostics`: publishes runs on tracing channels of Node.

export { iterationChannel, runChannel, toolChannel } from "./channels.ts";
export type { IterationMessage, RunMessage, ToolMessage } from "./channels.ts";
export { diagnostics } from "./middleware.ts";
