// Long results in files.

import { type Tool } from "turnwright";
import { directoryStore, createResultCache } from "turnwright/cache";

/** The tool that reads them again. */
export function cacheIn(directory: string): Tool {
  return createResultCache({ store: directoryStore(directory), ttlMs: 60_000 }).tool;
}
