import type { Service } from "./service.ts";

const thinks = /deepseek-(?:v4|flash)/i;

/**
 * DeepSeek V4 thinks unless it is told not to. While it thinks, it refuses a forced call
 * (github.com/deepseek-ai/DeepSeek-V3/issues/1376), and a message with calls must have `reasoning_content`
 * (github.com/iOfficeAI/AionUi/issues/2746). DeepSeek R1 must not get this field (@ai-sdk/deepseek 3.0.56). R1 always thinks, and its
 * chat template writes the opening tag (github.com/vllm-project/vllm/issues/13125).
 */
export const deepseek: Service = {
  name: "deepseek",
  address: /(?:^|\.)deepseek\.com$/,
  id: /^deepseek/,
  chat: { maxTokensField: "max_tokens" },
  models: [
    { model: /deepseek-(?:v4|flash|chat|reasoner)/i, chat: { forcedChoice: { thinking: { type: "disabled" } } } },
    { model: /deepseek-reasoner/i, chat: { echoReasoning: "reasoning_content" } },
  ],
  everywhere: [
    { model: thinks, chat: { echoReasoning: "reasoning_content" } },
    { model: /deepseek-r1/i, chat: { thinkTags: "opened" } },
  ],
};
