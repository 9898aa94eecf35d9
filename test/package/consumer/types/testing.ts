import { type LoopResult, runToolLoop, type Tool, type ToolOutcome } from "turnwright";
import { createMockProvider, createTestClock, recordEvents, runTool, text, toolCall } from "turnwright/testing";

export async function tryTool(tool: Tool): Promise<readonly [ToolOutcome, LoopResult]> {
  const provider = createMockProvider([toolCall(tool.name), text("Done.")]);
  const { emitter: events } = recordEvents();
  const messages = [{ role: "user", content: "Do it." }] as const;
  return [await runTool(tool, {}), await runToolLoop({ provider, tools: [tool], messages, events, clock: createTestClock() })];
}
