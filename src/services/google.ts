import type { Service } from "./service.ts";

/**
 * Google's endpoints with OpenAI's wire. From Gemini 3 on, the first call of a message needs a thought signature, and calls of other
 * models get a placeholder (ai.google.dev/gemini-api/docs/openai, ai.google.dev/gemini-api/docs/thought-signatures).
 */
export const google: Service = {
  name: "google",
  address: /(?:^|[.-])(?:generativelanguage|aiplatform)\.googleapis\.com$/,
  id: /^(?:google|gcp|gemini)/,
  chat: { endsWithUser: true },
  models: [
    {
      model: /gemini-(?![12](?!\d))/i,
      chat: { firstCallExtra: { google: { thought_signature: "skip_thought_signature_validator" } } },
    },
  ],
};
