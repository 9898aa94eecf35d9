import type { Service } from "./service.ts";

export const minimax: Service = {
  name: "minimax",
  address: /(?:^|\.)minimaxi?\.(?:io|chat|com)$/,
  id: /^minimax/,
  chat: { maxTokensField: "max_tokens" },
};
