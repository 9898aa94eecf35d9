import { grammarPatterns } from "./llama-server.ts";
import type { Service } from "./service.ts";
import type { Refused, Rule } from "./rule.ts";
import { show } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** LM Studio accepts `tool_choice` only as a word (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670), separates reasoning, and runs llama.cpp. */
export const lmStudio: Service = {
  name: "lm-studio",
  port: "1234",
  id: /^lm-?studio/,
  quirks: {
    alternates: true,
    endsWithUser: true,
    namedChoice: "single",
    maxTokensField: "max_tokens",
    separatesReasoning: true,
    ...grammarPatterns,
  },
};

export const lmStudioRules: readonly Rule[] = [
  {
    rule: "`tool_choice` is a word: none, auto or required.",
    source: "github.com/lmstudio-ai/lmstudio-bug-tracker#670, graft#27",
    breaks: ({ body: { tool_choice: choice } }) => choice !== undefined && !["none", "auto", "required"].includes(show(choice)),
    says: ({ body: { tool_choice: choice } }) =>
      `Invalid tool_choice type: '${typeof choice}'. Supported string values: none, auto, required`,
  },
];

export const toLmStudioError = ({ message }: Refused): object => ({ error: message });

export const lmStudioStyle: ChatStyle = { reasoning: "reasoning_content", oddities: ["no-index", "whole-arguments"] };
