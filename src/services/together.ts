import type { Service } from "./service.ts";

export const together: Service = {
  name: "together",
  address: /(?:^|\.)together\.(?:xyz|ai)$/,
  id: /^together/,
  quirks: { maxTokensField: "max_tokens" },
};
