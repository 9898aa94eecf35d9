export type { CacheBreakCause, LastRequest, PromptCacheBreak, PromptCacheUse, PromptCacheWatch } from "./types.ts";
export { watchPromptCache } from "./watch-prompt-cache.ts";
