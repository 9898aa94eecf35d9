import type { Service } from "./service.ts";

export const minimax: Service = {
  name: "minimax",
  address: /(?:^|\.)minimaxi?\.(?:io|chat|com)$/,
  id: /^minimax/,
  quirks: { maxTokensField: "max_tokens" },
};
