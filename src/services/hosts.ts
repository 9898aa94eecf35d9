import type { Service } from "./service.ts";

export const together: Service = {
  name: "together",
  address: /(?:^|\.)together\.(?:xyz|ai)$/,
  id: /^together/,
  chat: { maxTokensField: "max_tokens" },
};

export const fireworks: Service = {
  name: "fireworks",
  address: /(?:^|\.)fireworks\.ai$/,
  id: /^fireworks/,
  chat: { maxTokensField: "max_tokens" },
};
