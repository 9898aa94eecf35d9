import { openai } from "./openai.ts";
import type { Service } from "./service.ts";

/** Azure runs OpenAI's models with OpenAI's rules (github.com/palantir/foundry-dev-tools/issues/779). */
export const azure: Service = {
  ...openai,
  name: "azure",
  address: /\.(?:openai|services\.ai|cognitiveservices)\.azure\.com$/,
  id: /^(?:az|azure)(?:$|[.\-_])/,
};
