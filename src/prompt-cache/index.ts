// The entry `turnwright/prompt-cache`: reports how much of each request begins like the previous one.

export { watchPromptCache } from "./watch-prompt-cache.ts";
