import type { Service } from "./service.ts";

/**
 * OpenRouter finds no endpoint for some forms of `tool_choice` (404, github.com/zed-industries/zed/issues/36094), and more endpoints
 * support a word than an object. It separates reasoning. The GLM models accept only "auto", as at z.ai.
 */
export const openrouter: Service = {
  name: "openrouter",
  address: /(?:^|\.)openrouter\.ai$/,
  id: /^openrouter/,
  chat: { namedChoice: "single", separatesReasoning: true },
  models: [
    { model: /^z-ai\//, chat: { forcedChoice: "never" } },
    { model: /^meta(?:-llama)?\/muse-/, chat: { forcedChoice: "never", noneChoice: "no-tools" } },
  ],
};
