export type { ResultStore } from "../core/types/middleware-options.ts";
export { directoryStore } from "./result-store.ts";
export { fileSource } from "./file-source.ts";
export type { RangedText, ReadSource } from "./read-request.ts";
export { createResultCache, type ResultCache } from "./result-cache.ts";
