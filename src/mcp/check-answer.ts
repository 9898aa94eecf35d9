// Checks the answer of a server by the tool's own output schema, in time that the server cannot choose.

import { compileForeignSchema } from "../json-schema/compile-schema.ts";
import type { JsonSchema } from "../core/entry-kit.ts";
import type { McpTool } from "./mcp-client.ts";
import type { McpAnswer } from "./read-server.ts";

/**
 * Throws for structured content that is missing or does not match the output schema. Errors have none. A schema that cannot be read, and
 * an answer that is too large to be checked, are let through: the model reads them as they are.
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
