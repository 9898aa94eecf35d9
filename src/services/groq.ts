import type { Service } from "./service.ts";

/** 128 tools and 4 stop sequences at most (types of groq-sdk 1.6.0). Groq can hide reasoning. */
export const groq: Service = {
  name: "groq",
  address: /(?:^|\.)groq\.com$/,
  id: /^groq/,
  chat: { maxTools: 128, maxStops: 4, separatesReasoning: true },
};
