import type { Refused, Rule } from "./rule.ts";
import type { ChatStyle } from "./oddities.ts";

export const openrouterRules: readonly Rule[] = [
  {
    rule: "For models of z.ai, `tool_choice` is auto.",
    source: "oh-my-pi#11635, github.com/zed-industries/zed#36094",
    status: 404,
    breaks: ({ model, body: { tool_choice: choice } }) => model.startsWith("z-ai/") && choice !== undefined && choice !== "auto",
    says: "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
  },
];

/**
 * Creates an error body. OpenRouter passes on the upstream service's reason as JSON text in `metadata.raw`
 * (github.com/open-webui/computer#293).
 */
export const toOpenrouterError = ({ status, message, type, code }: Refused): object => {
  if (status === 404) return { error: { code: status, message }, user_id: "user_1" };
  const raw = JSON.stringify({ error: { message, type: type ?? "invalid_request_error", code: code ?? null } });
  return {
    error: { code: status, message: "Provider returned error", metadata: { provider_name: "Upstream", raw, is_byok: false } },
    user_id: "user_1",
  };
};

export const openrouterStyle: ChatStyle = { reasoning: "reasoning", oddities: ["comments", "two-reasoning-fields"] };
