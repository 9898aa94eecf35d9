import type { Service } from "./service.ts";

/**
 * Alibaba's DashScope refuses a forced call while a Qwen model thinks (github.com/cloudwego/eino/issues/994). The field
 * `enable_thinking` turns thinking off. QwQ and Qwen3 Thinking always think, and their chat template writes the opening tag
 * (github.com/theroyallab/tabbyAPI/issues/309, github.com/vllm-project/vllm/issues/31045).
 */
export const dashscope: Service = {
  name: "dashscope",
  address: /(?:^|\.)dashscope(?:-[\w-]+)?\.aliyuncs\.com$/,
  id: /^(?:dashscope|alibaba|qwen)/,
  quirks: { maxTokensField: "max_tokens" },
  models: [{ model: /qwen|qwq/i, quirks: { forcedChoice: { enable_thinking: false } } }],
  everywhere: [{ model: /\bqwq\b|qwen3.*-thinking-2507/i, quirks: { thinkTags: "opened" } }],
};
