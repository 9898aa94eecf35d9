// A summary for llms.txt: the parts of the loop. If a type here differs from the real type, the compiler reports an error.

import type { ContextSource, ModelRequest, StreamResult, ToolOutcome } from "turnwright";
import type { ContextRestart } from "turnwright/parts";
import * as parts from "turnwright/parts";
import type { StreamPorts } from "turnwright/parts";
import { type Differing, expectNone } from "./same-names.ts";

// #region parts
interface PartsEntry {
  streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult>;
  detectContextRestart(
    outcome: ToolOutcome,
    policy: { effects?: Record<string, readonly string[]>; stash?: ContextSource } | undefined,
  ): ContextRestart | undefined;
  CancelScope: new () => object; // cancellation, for the ports of a stage
}
// #endregion parts

parts satisfies PartsEntry;
expectNone<Differing<PartsEntry, typeof parts>>();
