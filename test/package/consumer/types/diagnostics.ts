import { subscribe } from "node:diagnostics_channel";
import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { diagnostics, toolChannel, type ToolMessage } from "turnwright/diagnostics";

export function ask(options: LoopOptions): Promise<LoopResult> {
  subscribe(`tracing:${toolChannel}:asyncEnd`, (message) => {
    const { name, outcome } = message as ToolMessage;
    console.log(name, outcome);
  });
  return runToolLoop({ ...options, middleware: [diagnostics()] });
}
