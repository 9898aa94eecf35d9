export type { CacheRequest } from "./cache-request.ts";
export { directoryStore } from "./directory-store.ts";
export { createResultCache, type ResultCache, type ResultCacheOptions } from "./result-cache.ts";
