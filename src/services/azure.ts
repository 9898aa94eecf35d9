import type { Rule } from "./rule.ts";
import type { ChatStyle } from "./oddities.ts";

/** The rules that Azure applies in addition to OpenAI's. */
export const azureRules: readonly Rule[] = [
  {
    rule: "A request has at most 50 images.",
    source: "azure-rest-api-specs#46145",
    breaks: ({ media }) => media.filter(({ kind }) => kind === "image").length > 50,
    says: "Exceeded maximum number of images (50) allowed in the request.",
  },
];

export const azureStyle: ChatStyle = { oddities: ["first-chunk-without-choices"] };
