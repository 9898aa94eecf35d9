import type { Service } from "./service.ts";

/** "Tool names are not allowed to be [search]" (github.com/tailcallhq/forgecode/issues/1580, github.com/QwenLM/qwen-code/issues/384). */
export const qwenNames: RegExp = /^(?!search$)/;

/**
 * Alibaba's DashScope needs a message of the user (github.com/langfuse/langfuse/issues/10513). It refuses a forced call while a Qwen model thinks (github.com/cloudwego/eino/issues/994). The field
 * `enable_thinking` turns thinking off. QwQ and Qwen3 Thinking always think, and their chat template writes the opening tag
 * (github.com/theroyallab/tabbyAPI/issues/309, github.com/vllm-project/vllm/issues/31045).
 */
export const dashscope: Service = {
  name: "dashscope",
  address: /(?:^|\.)dashscope(?:-[\w-]+)?\.aliyuncs\.com$/,
  id: /^(?:dashscope|alibaba|qwen)/,
  quirks: { maxTokensField: "max_tokens", toolNames: qwenNames, alternates: true },
  models: [{ model: /qwen|qwq/i, quirks: { forcedChoice: { enable_thinking: false } } }],
  everywhere: [{ model: /\bqwq\b|qwen3.*-thinking-2507/i, quirks: { thinkTags: "opened" } }],
};
