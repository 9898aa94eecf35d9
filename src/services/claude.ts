import type { Service } from "./service.ts";

/**
 * Claude models behind gateways that speak OpenAI's wires. Anthropic's rules come through: tools are declared if the messages have
 * calls, an answer cannot be prefilled from 4.6 on, and some models refuse a forced call.
 */
export const claude: Service = {
  name: "anthropic",
  address: /(?:^|\.)anthropic\.com$/,
  id: /^anthropic/,
  everywhere: [
    { model: /claude-/i, chat: { declaresOldTools: true, callIds: "plain", endsWithUser: true, thinkTags: false } },
    { model: /claude-(?:(?:fable|mythos)-5[.-][12]|(?:opus|sonnet)-5[.-]5)/i, chat: { forcedChoice: "never" } },
  ],
};
