import type { Service } from "./service.ts";

/** Chat templates of local models require that user and assistant messages alternate. */
export const vllm: Service = {
  name: "vllm",
  port: "8000",
  id: /^vllm/,
  chat: { alternates: true },
};
