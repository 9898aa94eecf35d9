// The entry `turnwright/cache`: a cache of long results, a tool that looks into them, and a store for them in a directory.

export type { CacheRequest } from "./cache-request.ts";
export { directoryStore } from "./directory-store.ts";
export { createResultCache, type ResultCache, type ResultCacheOptions } from "./result-cache.ts";
