// How a tool is written: `execute` gets the arguments that the tool's own schema describes.

import type { JsonSchema, StandardSchema, ToolSchema } from "../types/schema.ts";
import type { Tool } from "../types/loop-options.ts";
import type { Unvalidated } from "../types/tool-types.ts";
import { assertTool } from "./check-tool.ts";

/** Stands for "not said": the arguments follow from the schema. */
declare const fromSchema: unique symbol;

/** The type argument that `defineTool` has where none is given. */
export type FromSchema = typeof fromSchema;

/** What `execute` gets: what was said, else what the schema makes, else, for plain JSON Schema, anything. */
export type ArgsOf<Args, Schema extends ToolSchema> = [Args] extends [FromSchema]
  ? Schema extends StandardSchema
    ? NonNullable<Schema["~standard"]["types"]>["output"]
    : Unvalidated
  : NoInfer<Args>;

/**
 * Defines a tool and types its arguments. With a Standard Schema (zod, valibot, arktype ...) `execute` gets the schema's
 * output: checked, defaults filled in, transforms applied. With plain JSON Schema it gets the model's arguments unchecked, as
 * `unknown`; a type argument says what you take them for.
 *
 * Any plain value that `execute` returns is a success, a throw a failure that the model reads, `toolResult` says more, and
 * `FatalToolError` ends the run. Throws LoopError "invalid-tool" at once if the tool's shape is wrong, and "invalid-schema" if its JSON
 * Schema holds anything but JSON, such as the fields of `z.object({ ... })` without it.
 *
 * @example
 * const weather = defineTool({
 *   name: "get_weather",
 *   description: "Current weather of a city",
 *   inputSchema: z.object({ city: z.string() }),
 *   execute: ({ city }, context) => forecast(city, { signal: context.signal }),
 * });
 * const clock = defineTool<{ zone: string }>({
 *   name: "get_time",
 *   description: "Time of day in a time zone",
 *   inputSchema: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
 *   execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
 * });
 */
export function defineTool<Args = FromSchema, Schema extends ToolSchema = JsonSchema, Result = unknown>(
  tool: Tool<ArgsOf<Args, Schema>, Schema, Result>,
): Tool<ArgsOf<Args, Schema>, Schema, Result> {
  assertTool(tool);
  return tool;
}
