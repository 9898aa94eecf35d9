import { createToolRegistry, isLoopError, type Tool, type ToolRegistry } from "turnwright";
import { tool } from "../loop/play.ts";

export const one: Tool = tool("one", () => "first");
export const two: Tool = tool("two", () => "second");

export function bare(...tools: readonly Tool[]): ToolRegistry {
  const { definitions, executeTool } = createToolRegistry(tools);
  return { definitions, executeTool };
}

export function namesOf(registry: ToolRegistry): readonly string[] {
  return registry.definitions().map(({ name }) => name);
}

export function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return isLoopError(error) ? `${error.code}: ${error.message}` : String(error);
  }
  return "nothing";
}
