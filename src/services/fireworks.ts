import type { Service } from "./service.ts";

export const fireworks: Service = {
  name: "fireworks",
  address: /(?:^|\.)fireworks\.ai$/,
  id: /^fireworks/,
  quirks: { maxTokensField: "max_tokens" },
};
