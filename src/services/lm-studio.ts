import type { Service } from "./service.ts";

/** LM Studio accepts `tool_choice` only as a word (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670), and separates reasoning. */
export const lmStudio: Service = {
  name: "lm-studio",
  port: "1234",
  id: /^lm-?studio/,
  chat: { alternates: true, endsWithUser: true, namedChoice: "single", maxTokensField: "max_tokens", separatesReasoning: true },
};
