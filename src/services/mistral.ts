import type { Service } from "./service.ts";

/**
 * Mistral's own API. The rules about order and ids are part of the models' chat template, so they hold at other services too
 * (github.com/NousResearch/hermes-agent/issues/20154, github.com/karthink/gptel/issues/1203,
 * github.com/charmbracelet/crush/issues/279). A conversation must end with a user or tool message
 * (github.com/QuantumNous/new-api/issues/2858).
 */
export const mistral: Service = {
  name: "mistral",
  address: /(?:^|\.)mistral\.ai$/,
  id: /^mistral/,
  chat: { callIds: "nine", answersTools: true, alternates: true, endsWithUser: true, maxTokensField: "max_tokens" },
  everywhere: [
    {
      model: /(?:^|[/.])(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)-/i,
      chat: { callIds: "nine", answersTools: true, alternates: true, endsWithUser: true },
    },
  ],
};
