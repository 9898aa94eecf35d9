import type { JsonSchema, StandardSchema } from "./schema.ts";
import type { ToolContext, ToolTraits } from "./tool.ts";

/** A tool as its author writes it. Made by `defineTool`, which types the arguments of `execute`. */
export interface Tool extends ToolTraits {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: StandardSchema | JsonSchema;
  /** Shown to the model in place of what is made from `inputSchema`; needed where that cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Runs the tool; any plain value means success, a throw failure. */
  execute(args: never, context: ToolContext): unknown;
}
