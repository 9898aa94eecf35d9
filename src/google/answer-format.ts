import { createOutputPlanner, type ModelRequest, type OutputPlan } from "../core/provider-kit.ts";

interface Combined {
  readonly generation: 2 | 3;
  readonly serverTools: readonly object[];
}

/** Schemas with more than four levels have failed (github.com/Portkey-AI/gateway/pull/1616). */
const plan: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 100,
  maxUnions: 16,
  maxDepth: 4,
});

/** If the caller sets one of these fields in `extra`, the schema is not sent. */
const formatFields = ["responseMimeType", "responseJsonSchema", "responseSchema", "responseFormat"];

/**
 * Models before Gemini 3 reject a schema together with tools. Gemini 3 rejects a schema together with a required call
 * (`google-language-model.ts` in @ai-sdk/google 4.0.121).
 */
export function planOutput(request: ModelRequest, { generation, serverTools }: Combined): OutputPlan {
  const { tools, toolChoice, settings: { extra = {} } = {} } = request;
  const isForced = toolChoice === "required" || typeof toolChoice === "object";
  const canCombine = tools.length + serverTools.length === 0 || (generation === 3 && !isForced);
  return plan(request, canCombine && formatFields.every((field) => extra[field] === undefined));
}

/** Gemma, models before Gemini 2.5, and models with other output than text. */
const withoutSchemas = /gemma|gemini-(?:1|2\.0|2-|pro|ultra)|image|tts|live|audio|embedding/i;

export function enforcesSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}
