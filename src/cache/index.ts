export { directoryStore } from "./result-store.ts";
export { fileSource, type FileSourceOptions } from "./file-source.ts";
export type { RangedText, ReadSource, SourceText } from "./read-request.ts";
export type { ReadRequest } from "./read-request.ts";
export { createResultCache, type ResultCache, type ResultCacheOptions } from "./result-cache.ts";
