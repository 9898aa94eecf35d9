import type { LoopOptions, Middleware, Tool } from "turnwright";

/** Returns the options with middleware that watches the run, inside all other middleware. */
export function addWatchers<Output = unknown, T extends Tool = Tool>(
  options: LoopOptions<Output, T>,
  ...watching: readonly Middleware[]
): LoopOptions<Output, T> {
  return { ...options, middleware: [...(options.middleware ?? []), ...watching] };
}
