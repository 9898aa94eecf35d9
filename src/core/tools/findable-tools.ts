// Gives a tool that searches other tools the list that it may search.

import type { ToolContext } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";

/** A global symbol, so that the list is found in contexts from every loaded copy of the package. */
export const findableKey: unique symbol = Symbol.for("turnwright.FindableTools");

/**
 * Returns the deferred tools that the model may call in this iteration, whether they are loaded or not. Undefined if the call does
 * not belong to a run.
 */
export function findableTools(context: ToolContext): readonly ToolDefinition[] | undefined {
  return (context as { readonly [findableKey]?: readonly ToolDefinition[] })[findableKey];
}
