// A summary for llms.txt: what middleware and providers are written with. If a type here differs from the real type, the compiler reports an error.

import type { ContextSource, ModelRequest, StreamResult, ToolOutcome } from "turnwright";
import type { detectContextRestart, streamOnce } from "turnwright/kit";
import * as kit from "turnwright/kit";

type ContextRestart = NonNullable<ReturnType<typeof detectContextRestart>>;
type StreamPorts = Parameters<typeof streamOnce>[1];

// #region kit
interface Kit {
  streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult>;
  detectContextRestart(
    outcome: ToolOutcome,
    policy: { effects?: Record<string, readonly string[]>; stash?: ContextSource } | undefined,
  ): ContextRestart | undefined;
  CancelScope: new () => object; // cancellation, for the ports of a stage
}
// #endregion kit

kit satisfies Kit;
