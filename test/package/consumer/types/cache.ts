// Long results in files.

import { createResultCache, type Tool } from "turnwright";
import { directoryStore } from "turnwright/cache";

/** The tool that reads them again. */
export function cacheIn(directory: string): Tool {
  return createResultCache({ store: directoryStore(directory), ttlMs: 60_000 }).tool;
}
