export { watchPromptCache } from "./watch-prompt-cache.ts";
