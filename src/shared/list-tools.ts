import type { RunOptions, Tool } from "../core/types/loop-options.ts";

/** Returns the tools from the caller and the middleware. Returns undefined for a registry, which may add tools later. */
export function listTools({
  tools = [],
  middleware = [],
}: Pick<RunOptions, "tools" | "middleware">): readonly Tool[] | undefined {
  if (!Array.isArray(tools)) return undefined;
  return [...(tools as readonly Tool[]), ...middleware.flatMap((one) => (one === false ? [] : (one?.tools ?? [])))];
}
