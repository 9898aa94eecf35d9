// The entry `turnwright/cache`: a cache for large results, a tool with which the model reads these results, and a store on
// disk.

export type { CacheRequest } from "./cache-request.ts";
export { directoryStore } from "./directory-store.ts";
export { createResultCache, type ResultCache, type ResultCacheOptions } from "./result-cache.ts";
