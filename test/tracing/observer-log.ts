import { defineTool, type LoopOptions, type Tool, type ToolContext } from "turnwright";
import type { Observing, RunObserver } from "../../src/observe/run-observer.ts";

export const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
export const look: Tool = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: async (_: unknown, { callId }: ToolContext) => callId,
});

export function createLog(): { readonly lines: string[]; readonly observing: Observing } {
  const lines: string[] = [];
  const observe = (id: string): RunObserver => ({
    onEvent: ({ type }) => void lines.push(`${id} ${type}`),
    startStream: () => ({
      run: (step) => step(),
      onChunk: ({ type }) => (lines.push(`${id} chunk ${type}`), false),
    }),
    runTool: ({ callId }, execute) => {
      lines.push(`${id} runs ${callId}`);
      return execute();
    },
    nest:
      ({ callId }) =>
      () =>
        observe(`${id}/${callId}`),
    close: (failure) => void lines.push(`${id} closed${failure === undefined ? "" : ` ${String(failure.error)}`}`),
  });
  return { lines, observing: { hears: ["tool-end", "run-end"], start: ({ runId }) => observe(runId) } };
}
