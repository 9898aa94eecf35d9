import { createOutputPlanner, isClientOf, type JsonSchema, type ModelRequest, type OutputPlan } from "../core/provider-kit.ts";

/**
 * In OpenAI's schemas, all properties must be required, and ten levels are allowed
 * (https://developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas").
 */
export const planOutput: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 0,
  maxUnions: 100,
  maxDepth: 10,
});

/** Returns the fields of the answer's format, which Chat Completions and Responses share. Both APIs require a name. */
export function toFormat(schema: JsonSchema): object {
  return { name: "answer", schema, strict: true };
}

/** Models that reject a schema, or that reject more keywords than other models. */
const withoutSchemas = /^(?:ft:|gpt-3|gpt-4(?:$|-)|gpt-4o-2024-05-13|chatgpt-|o1-(?:mini|preview))|audio|realtime/i;

/** False for servers other than OpenAI's own and for Azure deployments, because they may reject or ignore the schema. */
export function enforcesSchemas(client: object, model: string): boolean {
  return isClientOf(client, "openai.com") && !withoutSchemas.test(model);
}
