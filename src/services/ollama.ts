import type { Service } from "./service.ts";

/**
 * Ollama ignores `tool_choice` (openai/openai.go in github.com/ollama/ollama), and refuses two assistant messages at the end
 * (github.com/NousResearch/hermes-agent/issues/80265). It separates reasoning, which can be turned off for each model.
 */
export const ollama: Service = {
  name: "ollama",
  address: /(?:^|\.)ollama\.com$/,
  port: "11434",
  id: /^ollama/,
  chat: {
    alternates: true,
    endsWithUser: true,
    namedChoice: "single",
    forcedChoice: "never",
    noneChoice: "no-tools",
    maxTokensField: "max_tokens",
    separatesReasoning: true,
  },
};
