import type { Service } from "./service.ts";

/**
 * xAI refuses a message without content: "Each message must have at least one content element."
 * (github.com/langchain-ai/langchain/issues/34140).
 * Grok has a tool with the name "web_search" itself: "custom function name "web_search" is reserved"
 * (github.com/earendil-works/pi/issues/8661, github.com/nicobailon/pi-web-access/issues/138).
 */
export const xai: Service = {
  name: "xai",
  address: /(?:^|\.)x\.ai$/,
  id: /^(?:x-?ai|grok)/,
  quirks: { callText: "(Calls tools.)", emptyText: "(empty)" },
  everywhere: [{ model: /grok/i, quirks: { toolNames: /^(?!web_search$)/ } }],
};
