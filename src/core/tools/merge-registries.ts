// Several registries as one.

import type { ToolRegistry } from "../types/loop-options.ts";
import { toRegistry, type ToolSource } from "./registry.ts";
import { routeRegistries } from "./route-registries.ts";

/**
 * Makes one registry of several, or of arrays of tools, in their order. Each call goes to the registry that has its tool, which also checks
 * the arguments; the tools of a registry without `validate` stay unchecked. Tools may come and go in each.
 *
 * Throws LoopError "duplicate-tool" where two of them have a tool of one name: at once, and from `definitions()` when it comes to be so
 * later, which ends a run as "hook-failed"; and "invalid-option" for what is neither tools nor a registry.
 *
 * @example
 * await runToolLoop({ provider, tools: mergeRegistries(mailTools, withPrefix(remoteTools, "crm_"), [weather]), messages });
 */
export function mergeRegistries(...sources: readonly ToolSource[]): ToolRegistry {
  const members = sources.map((source, index) => toRegistry(source, `mergeRegistries[${index}]`));
  return routeRegistries(members.map((registry) => ({ registry, nameOf: ({ name }) => name })));
}
