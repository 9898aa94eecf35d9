// What registries are put together from, and what is looked at of them.

import { createToolRegistry, isLoopError, type Tool, type ToolRegistry } from "turnwright";
import { tool } from "../loop/play.ts";

export const one: Tool = tool("one", () => "first");
export const two: Tool = tool("two", () => "second");

/** A registry of the caller's own that checks nothing. */
export function bare(...tools: readonly Tool[]): ToolRegistry {
  const { definitions, executeTool } = createToolRegistry(tools);
  return { definitions, executeTool };
}

/** The names that a registry shows. */
export function namesOf(registry: ToolRegistry): readonly string[] {
  return registry.definitions().map(({ name }) => name);
}

/** What something throws: the code and the message of a LoopError. */
export function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return isLoopError(error) ? `${error.code}: ${error.message}` : String(error);
  }
  return "nothing";
}
