import type { Service } from "./service.ts";

/** Mistral's own API, and Mistral's models at other services, because the rules are part of the models' chat template. */
export const mistral: Service = {
  name: "mistral",
  address: /(?:^|\.)mistral\.ai(?::\d+)?$/,
  id: /^mistral/,
  model: /(?:^|[/.])(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)-/i,
  chat: { callIds: "nine", answersTools: true, maxTokensField: "max_tokens" },
};
