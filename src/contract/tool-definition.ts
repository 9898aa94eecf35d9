import type { JsonSchema, StandardSchema } from "./schema.ts";
import type { ToolContext, ToolTraits } from "./tool.ts";

/** What may describe a tool's arguments. */
export type ToolSchema = StandardSchema | JsonSchema;

/** A tool as its author writes it. Made by `defineTool`, which types the arguments of `execute`. */
export interface Tool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends ToolTraits {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Shown to the model in place of what is made from `inputSchema`; needed where that cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Runs the tool; any plain value means success, a throw failure. */
  readonly execute: (args: Args, context: ToolContext) => Result;
}

/** Arguments that no schema has checked: JSON Schema is shown to the model, not enforced. */
export type Unvalidated = unknown;

/** What the `execute` of a tool gets: the output of its schema. */
export type ToolArgs<T extends Tool> = Parameters<T["execute"]>[0];

/** What a model has to send to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends Tool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/** What a tool gives, its promise resolved. */
export type ToolOutput<T extends Tool> = Awaited<ReturnType<T["execute"]>>;
