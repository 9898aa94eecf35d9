import type { Service } from "./service.ts";

/**
 * llama-server treats a choice in object form as "auto". It refuses two assistant messages at the end, and one if the model thinks
 * (tools/server/server-common.cpp in github.com/ggml-org/llama.cpp).
 */
export const llamaServer: Service = {
  name: "llama-server",
  port: "8080",
  id: /^llama[.-]?(?:cpp|server)/,
  chat: { alternates: true, endsWithUser: true, namedChoice: "single" },
};
