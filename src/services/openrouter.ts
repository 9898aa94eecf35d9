import { qwenNames } from "./dashscope.ts";
import type { Service } from "./service.ts";
import type { Refused, Rule } from "./rule.ts";
import type { ChatStyle } from "./oddities.ts";

/**
 * OpenRouter finds no endpoint for some forms of `tool_choice` (404, github.com/zed-industries/zed/issues/36094), and more endpoints
 * support a word than an object. It separates reasoning. The GLM models accept only "auto", as at z.ai.
 * Kimi and DeepSeek V4 refuse a forced call while they think, as they do at their own services. The field `reasoning` turns thinking off
 * (openrouter.ai/docs/use-cases/reasoning-tokens), but Kimi K2 Thinking and K2.7 always think
 * (github.com/AgentFlocks/flocks/pull/620).
 */
export const openrouter: Service = {
  name: "openrouter",
  address: /(?:^|\.)openrouter\.ai$/,
  id: /^openrouter/,
  quirks: { namedChoice: "single", separatesReasoning: true },
  models: [
    { model: /^(?:z-ai\/|meta(?:-llama)?\/muse-)/, quirks: { forcedChoice: "never", noneChoice: "no-tools" } },
    {
      model: /^(?:moonshotai\/kimi-k2\.[56]|deepseek\/deepseek-v4)/,
      quirks: { forcedChoice: { reasoning: { enabled: false } } },
    },
    // Alibaba is one of the services that run these models.
    { model: /^qwen\//, quirks: { toolNames: qwenNames } },
    { model: /^moonshotai\/kimi-k2(?:\.[7-9]|-thinking)/, quirks: { forcedChoice: "never" } },
  ],
};

export const openrouterRules: readonly Rule[] = [
  {
    rule: "For models of z.ai, `tool_choice` is auto.",
    source: "oh-my-pi#11635, github.com/zed-industries/zed#36094",
    status: 404,
    breaks: ({ model, body: { tool_choice: choice } }) => model.startsWith("z-ai/") && choice !== undefined && choice !== "auto",
    says: "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
  },
];

/** The reason of the service behind OpenRouter is JSON text in `metadata.raw` (github.com/open-webui/computer#293). */
export const toOpenrouterError = ({ status, message, type, code }: Refused): object => {
  if (status === 404) return { error: { code: status, message }, user_id: "user_1" };
  const raw = JSON.stringify({ error: { message, type: type ?? "invalid_request_error", code: code ?? null } });
  return {
    error: { code: status, message: "Provider returned error", metadata: { provider_name: "Upstream", raw, is_byok: false } },
    user_id: "user_1",
  };
};

export const openrouterStyle: ChatStyle = { reasoning: "reasoning", oddities: ["comments", "two-reasoning-fields"] };
