import type { Refused, Rule } from "./rule.ts";
import { show } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

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
