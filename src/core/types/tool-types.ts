import type { Tool } from "./loop-options.ts";
import type { StandardSchema } from "./schema.ts";

/** Arguments that no schema has checked: JSON Schema is shown to the model, not enforced. */
export type Unvalidated = unknown;

/** What the `execute` of a tool gets: the output of its schema. */
export type ToolArgs<T extends Tool> = Parameters<T["execute"]>[0];

/** What a model has to send to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends Tool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/** What a tool gives, its promise resolved. */
export type ToolOutput<T extends Tool> = Awaited<ReturnType<T["execute"]>>;
