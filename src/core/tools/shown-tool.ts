// What a model and a person are shown of a tool, as plain data: a call and a decision about it hold for that.

import type { JsonSchema } from "../types/schema.ts";
import type { ShownTool } from "../types/tool-change.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { memoize } from "../utils/memoize.ts";
import { stableJson } from "../utils/stable-json.ts";
import { toJson } from "../utils/to-json.ts";

/** What is shown of a tool. Made once for each definition, because runs share them. */
export const toShown: (definition: ToolDefinition) => ShownTool = /* @__PURE__ */ memoize(
  ({ description, inputSchema, origin, needsApproval = false, idempotent }) => ({
    description,
    // A copy, because the caller may go on writing to the schema.
    inputSchema: toJson(inputSchema) as JsonSchema,
    ...(origin === undefined ? {} : { origin }),
    ...(needsApproval === false ? {} : { needsApproval: needsApproval === true ? true : "some" }),
    ...(idempotent === true ? { idempotent } : {}),
  }),
);

const textOf = /* @__PURE__ */ memoize((definition: ToolDefinition) => stableJson(toShown(definition)));

/** Whether two definitions show the same tool: registries may make them anew each time. */
export function isSameTool(one: ToolDefinition, other: ToolDefinition): boolean {
  return one === other || textOf(one) === textOf(other);
}
