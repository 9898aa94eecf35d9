import type { Service } from "./service.ts";

/**
 * Kimi models think unless they are told not to, and K3 always thinks. While they think, they refuse a forced call, except that K3
 * accepts "required" (github.com/can1357/oh-my-pi/issues/1077, platform.kimi.ai/docs/guide/use-reasoning-effort). A message with calls
 * must have `reasoning_content` (github.com/earendil-works/pi/issues/8075). The models expect ids such as "functions.read:0" back.
 */
export const moonshot: Service = {
  name: "moonshot",
  address: /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.(?:ai|com))$/,
  id: /^(?:moonshot|kimi)/,
  chat: { maxTokensField: "max_tokens" },
  models: [
    { model: /kimi-(?:k2\.[5-9]|k2-thinking|latest)/i, chat: { forcedChoice: { thinking: { type: "disabled" } } } },
    { model: /kimi-k[3-9]/i, chat: { namedChoice: "single" } },
  ],
  everywhere: [
    { model: /kimi-/i, chat: { callIds: "any" } },
    { model: /kimi-(?:k2\.[5-9]|k2-thinking|latest|k[3-9])/i, chat: { echoReasoning: "reasoning_content" } },
  ],
};
