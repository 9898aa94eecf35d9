import type { Service } from "./service.ts";

/** Cerebras refuses `reasoning_content` in the messages of every model (github.com/QwenLM/qwen-code/issues/11045). */
export const cerebras: Service = {
  name: "cerebras",
  address: /(?:^|\.)cerebras\.ai$/,
  id: /^cerebras/,
  quirks: { echoReasoning: undefined },
};
