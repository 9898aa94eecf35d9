// The tools of a registry under longer names.

import type { ToolRegistry } from "../types/loop-options.ts";
import { invalidOption } from "../errors/check-fields.ts";
import { refuseTool } from "./refuse-tool.ts";
import { toRegistry, type ToolSource } from "./registry.ts";
import { routeRegistries } from "./route-registries.ts";

/**
 * Puts a prefix in front of each name, so that tools from several places do not get in each other's way. The registry behind it hears its
 * own names; `name` of a tool's context is the name that the model used.
 *
 * Throws LoopError "invalid-option" for a prefix that is not made of letters, digits, "_" and "-", and "invalid-tool" where a name becomes
 * longer than 64 characters.
 *
 * @example
 * withPrefix(createToolRegistry([search]), "web_"); // "web_search"
 */
export function withPrefix(source: ToolSource, prefix: string): ToolRegistry {
  if (typeof prefix !== "string" || !/^[\w-]{1,63}$/.test(prefix)) {
    throw invalidOption("prefix", '1 to 63 letters, digits, "_" or "-"', prefix);
  }
  const nameOf = ({ name }: { readonly name: string }): string => {
    const longer = prefix + name;
    if (longer.length <= 64) return longer;
    throw refuseTool(longer, `has a name of ${longer.length} characters, of which providers take 64: choose a shorter prefix`);
  };
  return routeRegistries([{ registry: toRegistry(source, "withPrefix"), nameOf }]);
}
