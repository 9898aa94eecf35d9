import { compileForeignSchema } from "../json-schema/compile-schema.ts";
import type { JsonSchema } from "../core/entry-kit.ts";
import type { McpTool } from "./mcp-client.ts";
import type { McpAnswer } from "./read-server.ts";

/**
 * Throws if the structured content is missing or does not match the output schema. Does not check error results, which have no
 * structured content. Accepts the result without a check if the schema is invalid or the result is too large.
 */
export function checkAnswer({ name, outputSchema }: McpTool, { structuredContent, isError, task }: McpAnswer): void {
  if (outputSchema === undefined || isError || task !== undefined) return;
  if (structuredContent === undefined) throw new Error(`Tool ${name} has an output schema but did not return structured content`);
  const made = compileForeignSchema(outputSchema as JsonSchema);
  const judged = "judge" in made ? made.judge(structuredContent) : { unchecked: made.problem };
  if (!("issues" in judged) || judged.issues.length === 0) return;
  const found = judged.issues.map(({ message, path = [] }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  throw new Error(`Structured content does not match the tool's output schema: ${found.join("; ")}`);
}
