import { defineTool, type LoopOptions, type Tool, type ToolContext } from "turnwright";
import type { RunObserver, StartObserving } from "../../src/observe/run-observer.ts";

export const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
export const look: Tool = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: async (_: unknown, { callId }: ToolContext) => callId,
});

const shown: readonly string[] = ["iteration-start", "tool-end", "run-end"];

export function createLog(): { readonly lines: string[]; readonly start: StartObserving } {
  const lines: string[] = [];
  const observe = (id: string): RunObserver => ({
    onEvent: ({ type }) => {
      if (shown.includes(type)) lines.push(`${id} ${type}`);
    },
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
  return { lines, start: ({ runId }) => observe(runId) };
}
