// Compares a tool with an earlier version that a model or a person has seen.

import type { JsonSchema } from "../types/common.ts";
import type { ShownTool, ToolChange } from "../types/tool-outcome.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { memoize } from "../utils/promises.ts";
import { stableJson, toJson } from "../utils/json.ts";
import { edges } from "../utils/edges.ts";

/** Returns the parts of a tool that journals record. Cached, because several runs use the same definitions. */
export const toShown: (definition: ToolDefinition) => ShownTool = /* @__PURE__ */ memoize(
  ({ description, inputSchema, origin, needsApproval = false, idempotent, polls, requiresFollowUp }) => ({
    description,
    inputSchema: toJson(inputSchema) as JsonSchema,
    ...(origin === undefined ? {} : { origin }),
    ...(needsApproval === false ? {} : { needsApproval: needsApproval === true ? true : "some" }),
    ...(idempotent === true ? { idempotent } : {}),
    ...(polls === true ? { polls } : {}),
    ...(requiresFollowUp === undefined ? {} : { requiresFollowUp }),
  }),
);

/** `polls` and `requiresFollowUp` concern the loop, so a tool with other values of these is still the tool that was approved. */
const textOf = /* @__PURE__ */ memoize((definition: ToolDefinition) => {
  const { polls: _, requiresFollowUp: __, ...shown } = toShown(definition);
  return stableJson(shown);
});

/** Compares the content, because a registry may make new objects each time. */
export function isSameTool(one: ToolDefinition, other: ToolDefinition | undefined): boolean {
  return one === other || (other !== undefined && textOf(one) === textOf(other));
}

/** True if a value that is valid for the recorded schema can be invalid now, or can mean something else. */
export function isBreaking({ kind }: Pick<ToolChange, "kind">): boolean {
  return kind !== "description-changed" && kind !== "default-changed" && kind !== "trait-changed";
}

export function findToolChanges(toolName: string, was: ShownTool, now: ShownTool | undefined): readonly ToolChange[] {
  if (now === undefined) return [{ toolName, kind: "removed" }];
  if (was === now || stableJson(was) === stableJson(now)) return [];
  const changes = edges.findToolChanges?.(was, now) ?? [{ kind: "constraint-changed" }];
  return changes.map((change) => ({ toolName, ...change }));
}
