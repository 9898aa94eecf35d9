// The differences between the tools of two requests.

import type { ToolDefinition } from "../../core/entry-kit.ts";
import { hasOtherKeyOrder, isSameText } from "./json-parts.ts";

/** A tool that both requests have, in two versions. */
export interface ChangedTool {
  readonly name: string;
  readonly before: ToolDefinition;
  readonly after: ToolDefinition;
  /** True if only the order of keys is different, for example in the schema. */
  readonly isKeyOrder: boolean;
}

export interface ToolsDifference {
  readonly added: readonly ToolDefinition[];
  readonly removed: readonly ToolDefinition[];
  readonly changed: readonly ChangedTool[];
  /** True if the tools that both requests have are in another order. */
  readonly isReordered: boolean;
  /** The names of all tools of the next request, in order. */
  readonly order: readonly string[];
}

/** Returns undefined if the tools are the same. */
export function diffTools(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): ToolsDifference | undefined {
  if (isSameText(before, after)) return undefined;
  const [old, current] = [byName(before), byName(after)];
  const order = after.map(({ name }) => name);
  const shared = order.filter((name) => old.has(name));
  const sharedBefore = before.map(({ name }) => name).filter((name) => current.has(name));
  return {
    added: after.filter(({ name }) => !old.has(name)),
    removed: before.filter(({ name }) => !current.has(name)),
    changed: after.flatMap((tool) => compareTool(old.get(tool.name), tool)),
    isReordered: !isSameText(shared, sharedBefore),
    order,
  };
}

function compareTool(before: ToolDefinition | undefined, after: ToolDefinition): readonly ChangedTool[] {
  if (before === undefined || isSameText(before, after)) return [];
  return [{ name: after.name, before, after, isKeyOrder: hasOtherKeyOrder(before, after) }];
}

function byName(tools: readonly ToolDefinition[]): ReadonlyMap<string, ToolDefinition> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}
