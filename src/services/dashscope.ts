import type { Service } from "./service.ts";

/**
 * Alibaba's DashScope refuses a forced call while a Qwen model thinks (github.com/cloudwego/eino/issues/994). The field
 * `enable_thinking` turns thinking off.
 */
export const dashscope: Service = {
  name: "dashscope",
  address: /(?:^|\.)dashscope(?:-[\w-]+)?\.aliyuncs\.com$/,
  id: /^(?:dashscope|alibaba|qwen)/,
  chat: { maxTokensField: "max_tokens" },
  models: [{ model: /qwen|qwq/i, chat: { forcedChoice: { enable_thinking: false } } }],
};
