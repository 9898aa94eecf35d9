import { anthropicMedia, azureMedia } from "./media-limits.ts";
import { openai } from "./openai.ts";
import type { Service } from "./service.ts";
import type { Rule } from "./rule.ts";
import type { ChatStyle } from "./oddities.ts";

/**
 * Azure runs OpenAI's models with OpenAI's rules (github.com/palantir/foundry-dev-tools/issues/779). It also runs Claude models, without
 * verified support for the beta `thinking-binding-controls` (github.com/pydantic/pydantic-ai/issues/8037).
 */
export const azure: Service = {
  ...openai,
  name: "azure",
  address: /\.(?:openai|services\.ai|cognitiveservices)\.azure\.com$|\.azure\.anthropic\.com$/,
  quirks: { ...openai.quirks, media: azureMedia },
  claudeQuirks: { media: anthropicMedia, refusesBinding: true },
  id: /^(?:az|azure)(?:$|[.\-_])/,
};

/** Azure has these rules beside OpenAI's. */
export const azureRules: readonly Rule[] = [
  {
    rule: "A request has at most 50 images.",
    source: "azure-rest-api-specs#46145",
    breaks: ({ media }) => media.filter(({ kind }) => kind === "image").length > 50,
    says: "Exceeded maximum number of images (50) allowed in the request.",
  },
];

export const azureStyle: ChatStyle = { oddities: ["first-chunk-without-choices"] };
