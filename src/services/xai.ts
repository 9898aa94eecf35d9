import type { Service } from "./service.ts";

/**
 * xAI refuses a message without content: "Each message must have at least one content element."
 * (github.com/langchain-ai/langchain/issues/34140).
 */
export const xai: Service = {
  name: "xai",
  address: /(?:^|\.)x\.ai$/,
  id: /^(?:x-?ai|grok)/,
  quirks: { callText: "(Calls tools.)", emptyText: "(empty)" },
};
