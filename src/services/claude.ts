import { anthropicMedia } from "./media-limits.ts";
import type { Service } from "./service.ts";

/**
 * Claude models behind gateways that speak OpenAI's wires. Anthropic's rules come through: tools are declared if the messages have
 * calls, texts are not empty, and an assistant message is never last. `findQuirks` adds the rules of each model from anthropic.ts.
 */
export const claude: Service = {
  name: "anthropic",
  address: /(?:^|\.)anthropic\.com$/,
  id: /^anthropic/,
  chat: { media: anthropicMedia },
  everywhere: [
    {
      model: /claude-/i,
      chat: {
        declaresOldTools: true,
        callIds: "plain",
        emptyText: "(empty)",
        alternates: true,
        endsWithUser: true,
        media: anthropicMedia,
        thinkTags: false,
      },
    },
  ],
};
