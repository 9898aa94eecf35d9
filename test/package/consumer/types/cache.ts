import { type Tool } from "turnwright";
import { directoryStore, createResultCache } from "turnwright/cache";

export function cacheIn(directory: string): Tool {
  return createResultCache({ store: directoryStore(directory), ttlMs: 60_000 }).tool;
}
