import {
  createOutputPlanner,
  isClientOf,
  type Json,
  type JsonSchema,
  type ModelRequest,
  type OutputPlan,
  recordOf,
} from "../core/provider-kit.ts";

/**
 * The service allows 24 optional properties and 16 unions
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs). Schemas with 11 optional properties have failed too
 * (`supports-native-structured-output-schema.ts` in @ai-sdk/anthropic 4.0.105).
 */
const plan: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 10,
  maxUnions: 16,
  maxDepth: 10,
});

/**
 * The service rejects a format together with citations, which its search tools add. The service also rejects a format if the final
 * message is from the model, because the model then continues that message.
 */
export function planOutput(request: ModelRequest, serverTools: readonly object[]): OutputPlan {
  const isContinued = request.messages.at(-1)?.role === "assistant";
  const isTaken = configOf(request)["format"] !== undefined;
  return plan(request, !isContinued && !isTaken && serverTools.length === 0);
}

/** Keeps the other fields of `output_config`, such as `effort`. */
export function toConfigField(schema: JsonSchema | undefined, request: ModelRequest): { readonly output_config?: Json } {
  return schema === undefined ? {} : { output_config: { ...configOf(request), format: { type: "json_schema", schema } } };
}

function configOf({ settings }: ModelRequest): { readonly [field: string]: Json } {
  return recordOf(settings?.extra?.["output_config"]) as { readonly [field: string]: Json };
}

const withoutSchemas = /claude-(?:instant|v?[123]\b|(?:sonnet|opus)-4(?:$|-0|-2025))/i;

/** False for Bedrock, Vertex AI and compatible servers, which support schemas only for some models. */
export function enforcesSchemas(client: object, model: string): boolean {
  return isClientOf(client, "anthropic.com") && !withoutSchemas.test(model);
}
