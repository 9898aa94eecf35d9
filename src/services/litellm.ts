import type { Service } from "./service.ts";

/** LiteLLM's proxy. Its models may run at Bedrock under any name, so tools are declared if the messages have calls. */
export const litellm: Service = {
  name: "litellm",
  port: "4000",
  id: /^litellm/,
  quirks: { declaresOldTools: true },
};
